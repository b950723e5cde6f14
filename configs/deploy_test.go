package configs

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// instruction is one line of a Dockerfile, continued lines joined.
type instruction struct{ name, rest string }

// finalStage returns the instructions of the stage that becomes the image.
func finalStage(t *testing.T) []instruction {
	t.Helper()
	text := readRepositoryFile(t, "Dockerfile")
	text = strings.ReplaceAll(text, "\\\n", " ")
	var stage []instruction
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case !ok || strings.HasPrefix(name, "#"):
		case name == "FROM":
			stage = []instruction{{name, rest}}
		default:
			stage = append(stage, instruction{name, strings.TrimSpace(rest)})
		}
	}
	return stage
}

func readRepositoryFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile("../" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rest returns what follows the only instruction of that name.
func rest(t *testing.T, stage []instruction, name string) string {
	t.Helper()
	var found []string
	for _, i := range stage {
		if i.name == name {
			found = append(found, i.rest)
		}
	}
	if len(found) != 1 {
		t.Fatalf("want one %s in the final stage, got %q", name, found)
	}
	return found[0]
}

type composeFile struct {
	Services map[string]struct {
		Environment map[string]string
		DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
		Healthcheck struct{ Test []string }
		Volumes     []string
		Ports       []string
		Image       string
	}
	Volumes map[string]any
}

func readCompose(t *testing.T) composeFile {
	t.Helper()
	var compose composeFile
	if err := yaml.Unmarshal([]byte(readRepositoryFile(t, "docker-compose.yml")), &compose); err != nil {
		t.Fatal(err)
	}
	return compose
}

func TestImageRunsAsNobodyAndReportsHealth(t *testing.T) {
	stage := finalStage(t)
	if user := rest(t, stage, "USER"); !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(user) {
		t.Errorf("USER %s: want numbers other than root's, which exist without a list of users", user)
	}
	if check := rest(t, stage, "HEALTHCHECK"); !strings.HasSuffix(check, `CMD ["/sessiond", "health"]`) {
		t.Errorf("HEALTHCHECK %s", check)
	}
	if entry := rest(t, stage, "ENTRYPOINT"); entry != `["/sessiond"]` {
		t.Errorf("ENTRYPOINT %s", entry)
	}
}

func TestImageNeedsOnlyAToken(t *testing.T) {
	environ := strings.Fields(rest(t, finalStage(t), "ENV"))
	if _, err := load("", nil, environ); err == nil || !strings.Contains(err.Error(), envToken) {
		t.Errorf("without a token: %v", err)
	}
	c, err := load("", nil, append(environ, "SESSIOND_TOKEN="+goodToken))
	if err != nil {
		t.Fatal(err)
	}
	if c.Log.Format != FormatJSON || !strings.HasPrefix(string(c.DatabaseURL), "sqlite:/data/") {
		t.Errorf("got log format %s, database %s", c.Log.Format, c.DatabaseURL)
	}
}

func TestComposeStartsWithItsSecrets(t *testing.T) {
	compose := readCompose(t)
	required := regexp.MustCompile(`\$\{(\w+):\?[^}]*\}`)
	secrets := map[string]string{"SESSIOND_TOKEN": goodToken, "POSTGRES_PASSWORD": "swordfish"}
	asked := map[string]bool{}

	server := compose.Services["sessiond"]
	environ := strings.Fields(rest(t, finalStage(t), "ENV"))
	for name, value := range server.Environment {
		value = required.ReplaceAllStringFunc(value, func(match string) string {
			secret := required.FindStringSubmatch(match)[1]
			asked[secret] = true
			return secrets[secret]
		})
		environ = append(environ, name+"="+value)
	}
	want := []string{"POSTGRES_PASSWORD", "SESSIOND_TOKEN"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(asked))); diff != "" {
		t.Errorf("variables that must be set (-want +got):\n%s", diff)
	}
	c, err := load("", nil, environ)
	if err != nil {
		t.Fatal(err)
	}
	if string(c.DatabaseURL) != "postgres://sessiond:swordfish@postgres:5432/sessiond?sslmode=disable" {
		t.Errorf("database: %q", string(c.DatabaseURL))
	}
	if diff := cmp.Diff([]Token{{OwnerDefault, DigestOf(goodToken)}}, c.Auth.Tokens); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

func TestComposeWaitsForAHealthyDatabaseAndKeepsIt(t *testing.T) {
	compose := readCompose(t)
	server, database := compose.Services["sessiond"], compose.Services["postgres"]
	if got := server.DependsOn["postgres"].Condition; got != "service_healthy" {
		t.Errorf("sessiond waits for postgres: %q", got)
	}
	if diff := cmp.Diff([]string{"CMD", "/sessiond", "health"}, server.Healthcheck.Test); diff != "" {
		t.Errorf("healthcheck of sessiond (-want +got):\n%s", diff)
	}
	if len(database.Healthcheck.Test) == 0 {
		t.Error("postgres has no healthcheck")
	}
	if !strings.HasPrefix(database.Image, "postgres:") {
		t.Errorf("image %s", database.Image)
	}
	volume, path, _ := strings.Cut(strings.Join(database.Volumes, ","), ":")
	if _, declared := compose.Volumes[volume]; !declared || path != "/var/lib/postgresql/data" {
		t.Errorf("volumes of postgres: %q", database.Volumes)
	}
	for name, service := range compose.Services {
		for _, port := range service.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s publishes %s beyond this machine", name, port)
			}
		}
	}
}
