package demo

import (
	"fmt"
	"strconv"
)

// phrases is everything the demo can say, in one language. Members with verbs are
// formats.
type phrases struct {
	demo         string // stands before every answer
	echo         string // %s what was said
	hint         string // %s messages so far
	sawImage     string // %s one image, %s type, %s bytes
	sawImages    string // %s images, %s type of the first, %s bytes of it
	images       string // %s images
	help         string
	tools        string // %s names
	noTools      string
	noSuchTool   string // %s name
	toolsOff     string
	step         string // %d step, %d steps, %s tools; read back by stepsDone
	someTool     string
	result       string // %s tool, %s bytes, %s lines
	failedResult string // %s tool
	faults       string // %s kinds
	faulty       string
	survived     string
	thinking     string // %s request, %s messages, %s tools
	messages     forms
	pictures     forms
	bytes        forms
	lines        forms
	hands        forms       // tools at hand
	planItems    [][2]string // what is to be done and its form while it is done; %s the request
}

// forms are a counted thing's: of one, and of any other number. %s is the number.
type forms struct{ one, many string }

func (f forms) of(n int) string {
	if n == 1 {
		return fmt.Sprintf(f.one, "1")
	}
	return fmt.Sprintf(f.many, grouped(n))
}

// grouped writes a number with its thousands set apart.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func phrasesFor(zh bool) *phrases {
	if zh {
		return chinesePhrases()
	}
	return englishPhrases()
}

func englishPhrases() *phrases {
	return &phrases{
		demo:      "[Demo model, answers by rule] ",
		echo:      "You said %s.",
		hint:      "I am not a language model; set an API key to talk to one. This conversation has %s. Say “help” to see what I can show.",
		sawImage:  "%s came with it, %s of about %s.",
		sawImages: "%s came with it; the first is %s of about %s.",
		images:    "It holds %s.",
		help: `Here is what you can try:
- call TOOL {"name":"value"} – I call that tool; without JSON I fill in what it requires
- call ONE and OTHER – both in one round; “call ONE then OTHER” – one round each
- call TOOL 5 times – five rounds; “… 5 times in parallel” – one round
- plan a holiday – I keep a todo list with todo_write
- think about it – a thinking block comes first
- count to 300, write 500 words – long answers
- wait 20 seconds – silence, so that you can stop me
- fail with rate – a failed call; “fail twice with overload” recovers, “fail halfway with network” breaks in the middle

Kinds of failure: rate, overload, network, auth, billing, media, invalid, overflow, size, refused, refusal, empty, max_tokens, bad_input, unknown_tool.

Chinese works too.`,
		tools:        "Tools I was given: %s.",
		noTools:      "I was given no tools.",
		noSuchTool:   "There is no tool named %s.",
		toolsOff:     "Tools are switched off for this answer.",
		step:         "Calling tools, step %d of %d: %s.",
		someTool:     "a tool",
		result:       "%s returned %s in %s.",
		failedResult: "%s failed.",
		faults:       "Tell me how to fail, for example “fail with rate”. Kinds: %s.",
		faulty:       "Calling a tool in a way that can't work, as asked.",
		survived:     "I was asked to fail, and this try is one that should succeed. Everything after a failed try is as if it had not happened.",
		thinking:     "The user says %s. Before me: %s; at hand: %s. A demo has not much to think about, but this is where reasoning is shown.",
		messages:     forms{"%s message", "%s messages"},
		pictures:     forms{"%s image", "%s images"},
		bytes:        forms{"%s byte", "%s bytes"},
		lines:        forms{"%s line", "%s lines"},
		hands:        forms{"%s tool", "%s tools"},
		planItems: [][2]string{
			{"Understand %s", "Understanding %s"},
			{"Do the work", "Doing the work"},
			{"Check the result", "Checking the result"},
		},
	}
}

func chinesePhrases() *phrases {
	return &phrases{
		demo:      "【演示模型，按规则回答】",
		echo:      "你说的是%s。",
		hint:      "我不是语言模型；设置 API 密钥后即可与真正的模型对话。本会话已有 %s。说“帮助”可以看到我能演示什么。",
		sawImage:  "附带 %s，类型是 %s，约 %s。",
		sawImages: "附带 %s，第一张是 %s，约 %s。",
		images:    "其中有 %s。",
		help: `可以这样试：
- 调用 工具名 {"参数":"值"}——我会调用该工具；不写 JSON 时我来补全必填参数
- 调用 甲 和 乙——同一轮并行；“调用 甲 然后 乙”——各一轮
- 调用 工具名 5 次——五轮；“同时调用 工具名 5 次”——一轮
- 计划一次旅行——我用 todo_write 维护待办列表
- 想一想——先给出思考过程
- 数到 300、写 500 字——长回答
- 等待 20 秒——沉默，便于尝试停止
- 模拟限流失败——调用失败；“模拟过载失败两次”会恢复，“模拟网络失败，中途”会在中间断开

可模拟：限流、过载、网络、认证、余额、图片、无效、超长、拒绝、空回答、截断、参数、未知工具。

也可以用英文。`,
		tools:        "我有这些工具：%s。",
		noTools:      "我没有工具。",
		noSuchTool:   "没有名为 %s 的工具。",
		toolsOff:     "本次回答不能使用工具。",
		step:         "调用工具，第 %d 步，共 %d 步：%s。",
		someTool:     "某个工具",
		result:       "%s 返回了 %s，共 %s。",
		failedResult: "%s 失败了。",
		faults:       "请说明要怎样失败，例如“模拟限流失败”。种类：%s。",
		faulty:       "按要求以错误的方式调用工具。",
		survived:     "你要求我失败，而这一次应当成功。失败的尝试不会留下任何痕迹。",
		thinking:     "用户说%s。之前有 %s，手边有 %s。演示模型没有多少可想的，但推理过程会显示在这里。",
		messages:     forms{"%s 条消息", "%s 条消息"},
		pictures:     forms{"%s 张图片", "%s 张图片"},
		bytes:        forms{"%s 字节", "%s 字节"},
		lines:        forms{"%s 行", "%s 行"},
		hands:        forms{"%s 个工具", "%s 个工具"},
		planItems: [][2]string{
			{"理解需求：%s", "正在理解需求：%s"},
			{"完成工作", "正在完成工作"},
			{"检查结果", "正在检查结果"},
		},
	}
}
