package configs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	goodToken = "correct-horse-battery"
	digestA   = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	digestB   = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// yamlFile joins lines into a file, so that line numbers can be counted here.
func yamlFile(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

func TestLoadTakesValuesFromFileAndEnvironment(t *testing.T) {
	tests := []struct {
		name    string
		file    string
		environ []string
		want    func(c *Config)
	}{
		{name: "nothing given", want: func(*Config) {}},
		{name: "only comments", file: "# nothing\n", want: func(*Config) {}},
		{name: "a group without keys", file: "llm:\n  # model: x\n", want: func(*Config) {}},
		{
			name: "every kind of value in the file",
			file: yamlFile(
				"listen: localhost:0",
				"log: {level: debug, format: json}",
				"llm:",
				"  model: small",
				"  models: [small, {name: large, window_tokens: 32768}]",
				"  max_output_tokens: 100",
				"worker: {tool_timeout: 1m30s}",
				"server: {console: false, allowed_hosts: ['::1', a.example, '*']}",
				"auth:",
				"  tokens:",
				"    - {owner: alice, sha256: "+digestA+"}",
			),
			want: func(c *Config) {
				c.Listen = "localhost:0"
				c.Log = Log{Level: LevelDebug, Format: FormatJSON}
				c.LLM.Model, c.LLM.Models, c.LLM.MaxOutputTokens = "small", []Model{{Name: "small"}, {Name: "large", WindowTokens: 32768}}, 100
				c.Worker.ToolTimeout = 90 * time.Second
				c.Server.Console, c.Server.AllowedHosts = false, []string{"::1", "a.example", "*"}
				c.Auth.Tokens = []Token{{Owner: "alice", SHA256: digestA}}
			},
		},
		{
			name:    "the environment wins over the file",
			file:    "llm: {model: from-file, max_output_tokens: 7}\n",
			environ: []string{"SESSIOND_LLM__MODEL=from-environment"},
			want: func(c *Config) {
				c.LLM.Model, c.LLM.MaxOutputTokens = "from-environment", 7
			},
		},
		{
			name: "every kind of value in the environment",
			environ: []string{
				"SESSIOND_LISTEN=0.0.0.0:80",
				"SESSIOND_LLM__MODELS=small, large",
				"SESSIOND_SERVER__CONSOLE=false",
				"SESSIOND_SERVER__LIMITS__TOOLS=3",
				"SESSIOND_SERVER__LIMITS__PING=1s",
				"SESSIOND_AUTH__TOKENS=urn:alice:" + digestA + ",bob:" + digestB,
			},
			want: func(c *Config) {
				c.Listen = "0.0.0.0:80"
				c.LLM.Models = []Model{{Name: "small"}, {Name: "large"}}
				c.Server.Console = false
				c.Server.Limits.Tools = 3
				c.Server.Limits.Ping = time.Second
				c.Auth.Tokens = []Token{{"urn:alice", digestA}, {"bob", digestB}}
			},
		},
		{
			name:    "an empty variable empties a list",
			file:    "llm: {models: [a, b]}\n",
			environ: []string{"SESSIOND_LLM__MODELS="},
			want:    func(*Config) {},
		},
		{
			name:    "SESSIOND_TOKEN is added to the tokens of the file",
			file:    "auth: {tokens: [{owner: alice, sha256: " + digestA + "}]}\n",
			environ: []string{"SESSIOND_TOKEN=" + goodToken},
			want: func(c *Config) {
				c.Auth.Tokens = []Token{{"alice", digestA}, {OwnerDefault, DigestOf(goodToken)}}
			},
		},
		{
			name:    "variables are put into values, and only there",
			file:    yamlFile("llm: {model: 'a-${PART}-${PART}', max_output_tokens: '${TOKENS}'}", "worker: {system_prompt: 'cost: $5, $${PART}'} # ${NOT_READ}"),
			environ: []string{"PART=b", "TOKENS=12"},
			want: func(c *Config) {
				c.LLM.Model, c.LLM.MaxOutputTokens = "a-b-b", 12
				c.Worker.SystemPrompt = "cost: $5, ${PART}"
			},
		},
		{
			name:    "a variable's value is not expanded again",
			file:    "llm: {model: '${PART}'}\n",
			environ: []string{"PART=${OTHER}", "SESSIOND_WORKER__SYSTEM_PROMPT=${PART}"},
			want: func(c *Config) {
				c.LLM.Model, c.Worker.SystemPrompt = "${OTHER}", "${PART}"
			},
		},
		{
			name: "a text is taken as it is written",
			file: "llm: {model: 1.10, models: [1.10, yes]}\n",
			want: func(c *Config) {
				c.LLM.Model, c.LLM.Models = "1.10", []Model{{Name: "1.10"}, {Name: "yes"}}
			},
		},
		{
			name: "keys in the other spelling",
			file: yamlFile(
				"databaseUrl: sqlite:x.db",
				"worker: {enableStrategicCacheBreakpoints: false}",
				"memory: {extraction: false}",
				"llm: {models: [{name: large, windowTokens: 32768, maxOutputTokens: 9}], summaryModel: small, pricing: {myModel: {cacheWrite5m: 1}}}",
				"context:",
				"  contextTokensLimit: 64000",
				"  autoCompactBufferTokens: 20000",
				"  retention: {minTextBlockMessages: 3}",
				"  toolResult: {max_tokens: 500}",
				"  recovery: {maxTokensPerFile: 9}"),
			want: func(c *Config) {
				c.DatabaseURL = "sqlite:x.db"
				c.Worker.EnableStrategicCacheBreakpoints, c.Memory.Extraction = false, false
				c.LLM.Models, c.LLM.SummaryModel = []Model{{"large", 32768, 9}}, "small"
				c.LLM.Pricing = map[string]Price{"myModel": {CacheWrite5m: 1}}
				c.Context.ContextTokensLimit, c.Context.AutoCompactBufferTokens = 64_000, 20_000
				c.Context.Retention.MinTextBlockMessages = 3
				c.Context.ToolResult.MaxTokens, c.Context.Recovery.MaxTokensPerFile = 500, 9
			},
		},
		{
			name: "anchors",
			file: yamlFile("server:", "  limits: {ping: &pause 7s, write: *pause}"),
			want: func(c *Config) {
				c.Server.Limits.Ping, c.Server.Limits.Write = 7*time.Second, 7*time.Second
			},
		},
		{
			name:    "other people's variables",
			environ: []string{"HOME=/root", "SESSIOND_TEST_DATABASE_URL=x", "SESSIONDX=1", "=odd", "odd"},
			want:    func(*Config) {},
		},
		{
			name:    "of equal variables the last counts",
			environ: []string{"SESSIOND_LLM__MODEL=a", "SESSIOND_LLM__MODEL=b"},
			want:    func(c *Config) { c.LLM.Model = "b" },
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := Default()
			test.want(&want)
			got, err := load("s.yaml", []byte(test.file), test.environ)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain(want), plain(got)); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

// plain gives every setting its own line without hiding any, for comparing.
func plain(c Config) map[string]any {
	m := map[string]any{}
	for _, leaf := range leavesOf(rootOf(&c), "") {
		switch v := leaf.value.Interface().(type) {
		case DatabaseURL:
			m[leaf.path] = string(v)
		case []Token:
			tokens := []string{}
			for _, token := range v {
				tokens = append(tokens, token.Owner+" "+string(token.SHA256))
			}
			m[leaf.path] = tokens
		default:
			m[leaf.path] = v
		}
	}
	return m
}

func TestLoadRefuses(t *testing.T) {
	tests := []struct {
		name    string
		file    string
		environ []string
		want    []string
	}{
		{
			name: "unknown keys at every level",
			file: yamlFile("lisen: x", "llm:", "  modell: x", "server:", "  limits:", "    max_tool: 1", "auth:", "  tokens:", "    - {owner: a, sha256: "+digestA+", role: x}"),
			want: []string{
				"s.yaml:1: lisen: unknown setting",
				"s.yaml:3: llm.modell: unknown setting",
				"s.yaml:6: server.limits.max_tool: unknown setting",
				"s.yaml:9: auth.tokens[0].role: unknown setting",
			},
		},
		{
			name:    "unknown variables",
			environ: []string{"SESSIOND_PORT=1", "SESSIOND_LLM__MODELL=x", "SESSIOND_llm__model=x", "SESSIOND_LLM=x"},
			want: []string{
				"SESSIOND_LLM: unknown setting",
				"SESSIOND_LLM__MODELL: unknown setting",
				"SESSIOND_PORT: unknown setting",
				"SESSIOND_llm__model: unknown setting",
			},
		},
		{
			name: "values of the wrong kind",
			file: yamlFile(
				"listen: [a]", "llm: none", "worker:", "  max_rounds_per_turn: many", "  tool_timeout: 5", "  system_prompt:",
				"server:", "  console: yes", "  allowed_hosts: a", "log: {level: loud}", "auth: {tokens: [alice]}"),
			want: []string{
				"s.yaml:1: listen: must be a single value",
				"s.yaml:2: llm: must be a group of settings",
				"s.yaml:4: worker.max_rounds_per_turn: must be a whole number",
				"s.yaml:5: worker.tool_timeout: must be a duration such as 90s, 30m or 1h30m",
				`s.yaml:6: worker.system_prompt: has no value; write "" for an empty text`,
				"s.yaml:8: server.console: must be true or false",
				"s.yaml:9: server.allowed_hosts: must be a list; an empty one is []",
				`s.yaml:10: log.level: this version does not know "loud"; it knows debug, info, warn, error`,
				"s.yaml:11: auth.tokens[0]: must be a group of settings",
				"s.yaml:11: auth.tokens[0].owner: must not be empty",
				"s.yaml:11: auth.tokens[0].sha256: must be 64 lower-case hexadecimal digits",
			},
		},
		{
			name:    "values of the wrong kind in the environment",
			environ: []string{"SESSIOND_WORKER__TOOL_TIMEOUT=5", "SESSIOND_LLM__MODELS=a,,b", "SESSIOND_AUTH__TOKENS=alice"},
			want: []string{
				"SESSIOND_AUTH__TOKENS: auth.tokens: each token must be written as owner:sha256",
				"SESSIOND_LLM__MODELS: llm.models: has an empty item",
				"SESSIOND_WORKER__TOOL_TIMEOUT: worker.tool_timeout: must be a duration such as 90s, 30m or 1h30m",
			},
		},
		{
			name: "a provider that does not exist",
			file: "llm: {provider: oracle}\n",
			want: []string{`s.yaml:1: llm.provider: this version does not know "oracle"; it knows auto, anthropic, openai, demo`},
		},
		{
			name: "a provider without its key",
			file: "llm: {provider: anthropic}\n",
			want: []string{"s.yaml:1: llm.api_key: is needed for anthropic; ANTHROPIC_API_KEY in the environment does as well"},
		},
		{
			name: "a server without a model",
			file: "llm: {base_url: \"http://localhost:11434/v1\"}\n",
			want: []string{"s.yaml:1: llm.model: is needed with llm.base_url: its models are not known here"},
		},
		{
			name: "a base URL with a password",
			file: "llm: {base_url: \"http://me:secret@localhost/v1\", model: m}\n",
			want: []string{"s.yaml:1: llm.base_url: must be http(s)://host/path without credentials and query"},
		},
		{
			name: "prices",
			file: yamlFile("llm:", "  pricing:", "    a: {input: -1}", "    b: {input: x, inptu: 1}", "    c: 3"),
			want: []string{
				"s.yaml:4: llm.pricing[b].input: must be a number",
				"s.yaml:4: llm.pricing[b].inptu: unknown setting",
				"s.yaml:5: llm.pricing[c]: must be a group of settings",
				"s.yaml:3: llm.pricing[a]: a price can't be negative",
			},
		},
		{
			name: "keys given twice, in whichever spelling",
			file: yamlFile("listen: 127.0.0.1:1", "llm: {model: a}", "llm: {model: b}", "context:", "  tool_result: {}", "  toolResult: {}"),
			want: []string{"s.yaml:3: llm: given twice, first in line 2", "s.yaml:6: context.tool_result: given twice, first in line 5"},
		},
		{
			name: "no YAML",
			file: yamlFile("llm: {", "listen: x"),
			want: []string{"s.yaml: yaml: line 2: did not find expected ',' or '}'"},
		},
		{
			name: "no group at the top",
			file: "- a\n",
			want: []string{"s.yaml:1: must be a group of settings"},
		},
		{
			name: "two documents",
			file: yamlFile("llm: {model: a}", "---", "llm: {model: b}"),
			want: []string{"s.yaml: more than one YAML document"},
		},
		{
			name:    "variables that are not there",
			file:    yamlFile("llm: {model: '${ONE}${TWO}${SET}'}", "worker: {system_prompt: '${not a name}'}"),
			environ: []string{"SET=x"},
			want: []string{
				"s.yaml:1: llm.model: needs the environment variable ONE, which is not set\nneeds the environment variable TWO, which is not set",
				"s.yaml:2: worker.system_prompt: has a ${ that names no variable; write $${ for a plain one",
			},
		},
		{
			name:    "numbers out of range, wherever they come from",
			file:    yamlFile("llm: {max_output_tokens: 0}", "worker: {tool_timeout: 1ms, max_rounds_per_turn: -1}"),
			environ: []string{"SESSIOND_WORKER__MAX_ROUNDS_PER_TURN=0"},
			want: []string{
				"s.yaml:1: llm.max_output_tokens: must be at least 1",
				"SESSIOND_WORKER__MAX_ROUNDS_PER_TURN: worker.max_rounds_per_turn: must be at least 1",
				"s.yaml:2: worker.tool_timeout: must be at least 1s",
			},
		},
		{
			name: "a pong that is due before the ping",
			file: "server: {limits: {ping: 1m}}\n",
			want: []string{"s.yaml:1: server.limits.pong: must be longer than ping (1m0s)"},
		},
		{
			name: "a model that no session may name",
			file: yamlFile("llm:", "  model: a", "  models:", "    - b", "    - ''", "    - {window_tokens: 9}", "    - {name: b, window_tokens: 9}", "    -", "    - [c]"),
			want: []string{
				`s.yaml:8: llm.models[4]: has no value; write "" for an empty text`,
				"s.yaml:9: llm.models[5]: must be a group of settings",
				"s.yaml:5: llm.models[1]: has no name",
				"s.yaml:6: llm.models[2]: has no name",
				"s.yaml:7: llm.models[3]: is the same model as llm.models[0]",
				"s.yaml:8: llm.models[4]: has no name",
				"s.yaml:9: llm.models[5]: has no name",
				`s.yaml:2: llm.model: "a" is not among llm.models`,
			},
		},
		{
			name:    "a weak token, and no second complaint about it",
			environ: []string{"SESSIOND_LISTEN=0.0.0.0:1", "SESSIOND_TOKEN=secret"},
			want:    []string{"SESSIOND_TOKEN: auth.tokens: must have at least 16 characters; openssl rand -hex 32 makes a good one"},
		},
		{
			name:    "an empty token",
			environ: []string{"SESSIOND_TOKEN="},
			want:    []string{"SESSIOND_TOKEN: auth.tokens: must have at least 16 characters; openssl rand -hex 32 makes a good one"},
		},
		{
			name:    "a token that fits in no header",
			environ: []string{"SESSIOND_TOKEN=correct horse battery"},
			want:    []string{"SESSIOND_TOKEN: auth.tokens: must be printable ASCII without spaces, or no client can send it"},
		},
		{
			name: "owners and digests",
			file: yamlFile("auth:", "  tokens:",
				"    - {owner: local, sha256: "+digestA+"}",
				"    - {owner: "+strings.Repeat("x", 129)+", sha256: "+strings.ToUpper(digestA)+"}",
				"    - {owner: \"a\\nb\", sha256: "+digestA+"}"),
			environ: []string{"SESSIOND_TOKEN=" + goodToken},
			want: []string{
				`s.yaml:3: auth.tokens[0].owner: "local" is who owns everything without authentication; choose another name`,
				"s.yaml:4: auth.tokens[1].owner: must be at most 128 bytes",
				"s.yaml:4: auth.tokens[1].sha256: must be 64 lower-case hexadecimal digits",
				"s.yaml:5: auth.tokens[2].owner: must have no control characters",
				"s.yaml:5: auth.tokens[2]: is the same token as auth.tokens[0]",
			},
		},
		{
			name:    "the token of the environment once more in the file",
			file:    "auth: {tokens: [{owner: a, sha256: " + string(DigestOf(goodToken)) + "}]}\n",
			environ: []string{"SESSIOND_TOKEN=" + goodToken},
			want:    []string{"SESSIOND_TOKEN: auth.tokens[1]: is the same token as auth.tokens[0]"},
		},
		{
			name: "origins and hosts that can never match",
			file: yamlFile("server:", "  allowed_origins:", "    - https://a.example/", "    - https://A.example", "    - https://a.example:443", "    - '*'", "    - https://*.example", "    - null",
				"  allowed_hosts: ['a.example:80', 'https://a.example', A.example, '']"),
			want: []string{
				`s.yaml:8: server.allowed_origins[5]: has no value; write "" for an empty text`,
				`s.yaml:3: server.allowed_origins[0]: "https://a.example/" must be scheme://host or scheme://host:port and no more`,
				`s.yaml:4: server.allowed_origins[1]: "https://A.example" must be in lower case, as browsers send it`,
				`s.yaml:5: server.allowed_origins[2]: "https://a.example:443" must leave out the usual port, as browsers do`,
				`s.yaml:6: server.allowed_origins[3]: "*" must be scheme://host or scheme://host:port and no more`,
				`s.yaml:7: server.allowed_origins[4]: "https://*.example" must name one host; there are no patterns`,
				`s.yaml:8: server.allowed_origins[5]: "" must be scheme://host or scheme://host:port and no more`,
				`s.yaml:9: server.allowed_hosts[0]: "a.example:80" must be one name in lower case or an address, without scheme and port, or *`,
				`s.yaml:9: server.allowed_hosts[1]: "https://a.example" must be one name in lower case or an address, without scheme and port, or *`,
				`s.yaml:9: server.allowed_hosts[2]: "A.example" must be one name in lower case or an address, without scheme and port, or *`,
				`s.yaml:9: server.allowed_hosts[3]: "" must be one name in lower case or an address, without scheme and port, or *`,
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := load("s.yaml", []byte(test.file), test.environ)
			if diff := cmp.Diff(test.want, problemsOf(t, err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(plain(Config{}), plain(c)); diff != "" {
				t.Errorf("a refused load still returned settings:\n%s", diff)
			}
		})
	}
}

// TestChecksJudgeTheSettings that are in force, besides what is wrong otherwise, and
// what they refuse is told with its place.
func TestChecksJudgeTheSettings(t *testing.T) {
	check := func(c Config, refuse func(path, why string)) {
		if c.Context.ContextTokensLimit != 7 || c.Context.LandingRatio != 2 {
			t.Errorf("judged: %+v", c.Context)
		}
		refuse("context.context_tokens_limit", "100 % wrong")
		refuse("context.landing_ratio", "too high")
		refuse("llm.models[0].window_tokens", "too low")
	}
	_, err := load("s.yaml", []byte(yamlFile("llm:", "  modell: x", "  models: [{name: a, window_tokens: 1}]", "context:", "  contextTokensLimit: 7")),
		[]string{"SESSIOND_CONTEXT__LANDING_RATIO=2"}, check)
	want := []string{
		"s.yaml:2: llm.modell: unknown setting",
		"s.yaml:5: context.context_tokens_limit: 100 % wrong",
		"SESSIOND_CONTEXT__LANDING_RATIO: context.landing_ratio: too high",
		"s.yaml:3: llm.models[0].window_tokens: too low",
	}
	if diff := cmp.Diff(want, problemsOf(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if _, err := load("", nil, nil, func(Config, func(string, string)) {}); err != nil {
		t.Errorf("a check that refuses nothing: %v", err)
	}
}

func problemsOf(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		t.Fatal("nothing was refused")
	}
	var all interface{ Unwrap() []error }
	if !errors.As(err, &all) {
		t.Fatalf("not a joined error: %v", err)
	}
	var texts []string
	for _, problem := range all.Unwrap() {
		if _, ok := errors.AsType[*SettingError](problem); !ok {
			t.Errorf("not a SettingError: %v", problem)
		}
		texts = append(texts, problem.Error())
	}
	return texts
}

func TestListenNeedsAuthenticationBeyondLoopback(t *testing.T) {
	tests := []struct {
		listen string
		want   string // part of the problem without a token; empty: none
		broken bool   // refused even with a token
	}{
		{listen: "127.0.0.1:8080"},
		{listen: "127.9.9.9:0"},
		{listen: "[::1]:8080"},
		{listen: "[::ffff:127.0.0.1]:8080"},
		{listen: "localhost:8080"},
		{listen: ":8080", want: "no authentication"},
		{listen: "0.0.0.0:8080", want: "no authentication"},
		{listen: "[::]:8080", want: "no authentication"},
		{listen: "10.0.0.7:8080", want: "no authentication"},
		{listen: "localhost.example.com:8080", want: "no authentication"},
		{listen: "8080", want: "must be host:port", broken: true},
		{listen: "127.0.0.1:http", want: "port between 0 and 65535", broken: true},
		{listen: "127.0.0.1:65536", want: "port between 0 and 65535", broken: true},
	}
	for _, test := range tests {
		t.Run(test.listen, func(t *testing.T) {
			environ := []string{"SESSIOND_LISTEN=" + test.listen}
			_, err := load("", nil, environ)
			if got := err != nil; got != (test.want != "") {
				t.Fatalf("without a token: %v", err)
			}
			if test.want != "" && (!strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "SESSIOND_LISTEN: listen: ")) {
				t.Errorf("without a token: %v", err)
			}
			_, err = load("", nil, append(environ, "SESSIOND_TOKEN="+goodToken))
			if got := err != nil; got != test.broken {
				t.Errorf("with a token: %v", err)
			}
		})
	}
}

func TestDatabaseURL(t *testing.T) {
	tests := []struct {
		url  string
		want string // the whole problem; empty: accepted
	}{
		{url: "sqlite:/var/lib/sessiond.db"},
		{url: "postgres://u:p@h:5432/d?sslmode=disable"},
		{url: "postgresql:///d?host=/run/postgresql"},
		{url: "sqlite:", want: "names no file after sqlite:"},
		{url: "", want: "must begin with sqlite: or postgres://"},
		{url: "mysql://u:swordfish@h/d", want: "must begin with sqlite: or postgres://"},
		{url: "host=h password=swordfish", want: "must begin with sqlite: or postgres://"},
		{url: "postgres://u:sword%fish@h/d", want: "is no valid URL; special characters in the password must be percent-encoded"},
	}
	for _, test := range tests {
		t.Run(test.url, func(t *testing.T) {
			c, err := load("", nil, []string{"SESSIOND_DATABASE_URL=" + test.url})
			if test.want == "" {
				if err != nil || string(c.DatabaseURL) != test.url {
					t.Errorf("got %q, %v", string(c.DatabaseURL), err)
				}
				return
			}
			want := []string{"SESSIOND_DATABASE_URL: database_url: " + test.want}
			if diff := cmp.Diff(want, problemsOf(t, err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadReadsTheNamedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(path, []byte("llm: {model: mine}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path, nil)
	if err != nil || c.LLM.Model != "mine" {
		t.Errorf("got model %q, %v", c.LLM.Model, err)
	}
	if _, err := Load(path+".missing", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := Load("", nil); err != nil {
		t.Errorf("no file: %v", err)
	}
}
