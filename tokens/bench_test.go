package tokens_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"sessiond/tokens"
)

// least is the CPU time of the run of something that took the least, which other load
// on the machine does least to.
type least time.Duration

func never() least { return math.MaxInt64 }

func (l *least) run(do func()) {
	before := cpuTime()
	do()
	*l = min(*l, least(cpuTime()-before))
}

// cpuTime is that of the whole process, collecting garbage included.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// sampleBytes is the length of each kind of text to count.
const sampleBytes = 20_000

// conversationsWith returns texts of the recorded conversations that in some share of
// their characters, from least to most, are of letters, spaces and the marks between
// sentences: prose has more of these than code.
func conversationsWith(b *testing.B, least, most float64) string {
	b.Helper()
	const short = 200
	var all strings.Builder
	for _, text := range texts(b) {
		if share := proseShare(text); len(text) >= short && share >= least && share <= most {
			all.WriteString(text)
			all.WriteString("\n")
		}
	}
	if all.Len() < sampleBytes {
		b.Fatalf("only %d bytes of this kind", all.Len())
	}
	return strings.ToValidUTF8(all.String()[:sampleBytes], "")
}

func proseShare(text string) float64 {
	prose, total := 0, 0
	for _, r := range text {
		total++
		if unicode.IsLetter(r) || r == ' ' || r == ',' || r == '.' {
			prose++
		}
	}
	return float64(prose) / float64(total)
}

// chinese returns sentences without a meaning, of common words.
func chinese() string {
	words := strings.Fields("我们 他们 你 我 的 了 在 是 有 和 不 这个 那个 可以 需要 应该 已经 因为 所以 但是 如果 时候 问题 方法 结果 数据 系统 程序 代码 文件 用户 服务 消息 会话 上下文 压缩 测试 运行 启动 停止 检查 修改 删除 添加 更新 返回 错误 成功 失败 今天 明天 中国 世界 经济 发展 学习 工作 生活 朋友 时间 地方 城市 学校 老师 学生 喜欢 认为 知道 觉得 看见 开始 结束 非常 特别 一直 马上 重新 通过 根据 关于 对于 其中 例如 很多 一些 每个 所有 任何 第一 最后 之前 之后")
	random := rand.New(rand.NewPCG(5, 6))
	var all strings.Builder
	for all.Len() < sampleBytes {
		for range 4 + random.IntN(10) {
			all.WriteString(words[random.IntN(len(words))])
		}
		all.WriteString([]string{"，", "，", "。", "；", "？", "。\n"}[random.IntN(6)])
	}
	return all.String()
}

// BenchmarkCount measures counting next to the original: x-original is how many times
// faster it is.
func BenchmarkCount(b *testing.B) {
	kinds := map[string]string{
		"prose":   conversationsWith(b, 0.95, 1),
		"code":    conversationsWith(b, 0.5, 0.8),
		"chinese": chinese(),
	}
	for _, s := range eachSubject(b) {
		for kind, text := range kinds {
			b.Run(s.Name()+"/"+kind, func(b *testing.B) {
				ours, original := never(), never()
				s.Count("") // builds the tables
				for range 20 {
					original.run(func() { s.want(text) })
				}
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					ours.run(func() { s.Count(text) })
				}
				b.ReportMetric(float64(original)/float64(ours), "x-original")
				b.ReportMetric(float64(len(text))/1e6/time.Duration(ours).Seconds(), "best-MB/s")
			})
		}
	}
}

// BenchmarkCountRun measures that a run without a break takes time in proportion:
// time-ratio is that of 200,000 letters to that of 100,000.
func BenchmarkCountRun(b *testing.B) {
	for _, s := range eachSubject(b) {
		b.Run(s.Name(), func(b *testing.B) {
			long := strings.Repeat("a", 200_000)
			half, whole := never(), never()
			s.Count("") // builds the tables
			b.SetBytes(int64(len(long)))
			b.ReportAllocs()
			for b.Loop() {
				half.run(func() { s.Count(long[:100_000]) })
				whole.run(func() { s.Count(long) })
			}
			b.ReportMetric(float64(whole)/float64(half), "time-ratio")
		})
	}
}

// BenchmarkCut measures cutting 5 MB to its first 6,000 and last 2,000 tokens:
// x-count is how many times faster that is than counting the whole.
func BenchmarkCut(b *testing.B) {
	const size = 5_000_000
	text := strings.ToValidUTF8(strings.Join(texts(b), "\n")[:size], "")
	for _, s := range eachSubject(b) {
		b.Run(s.Name(), func(b *testing.B) {
			count, cut := never(), never()
			for range 3 {
				count.run(func() { s.Count(text) })
			}
			b.ReportAllocs()
			for b.Loop() {
				cut.run(func() {
					s.Head(text, 6000)
					s.Tail(text, 2000)
				})
			}
			b.ReportMetric(float64(count)/float64(cut), "x-count")
		})
	}
}

// BenchmarkFirstUse measures what an encoding costs that is used for the first time:
// heap-B is the memory that stays.
func BenchmarkFirstUse(b *testing.B) {
	for _, name := range []string{"o200k_base", "cl100k_base"} {
		b.Run(name, func(b *testing.B) {
			var kept int64
			for b.Loop() {
				before := heap()
				encoding, err := tokens.New(name)
				if err != nil {
					b.Fatal(err)
				}
				encoding.Count("a")
				kept = heap() - before
				runtime.KeepAlive(encoding)
			}
			b.ReportMetric(float64(kept), "heap-B")
		})
	}
}

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
