package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func sample() *Chart {
	return &Chart{
		Title: `Context of "a" & <b>`, Subtitle: "at a limit of 25,000 tokens", XLabel: "round", YLabel: "input in tokens", Steps: "rounds",
		Line:   Series{"whole input", []float64{4_000, 9_000, 12_500, 7_000, 8_200, 11_900, 6_100}},
		Area:   Series{"of it, read from the cache", []float64{0, 4_000, 9_000, 0, 7_000, 8_200, 3_000}},
		Levels: []Level{{"limit L", 25_000, true}, {"threshold T", 12_000, false}},
		Kinds: []Kind{
			{"compaction", []Mark{{4, "compaction before round 4"}}}, {"clearing", nil}, {"microcompact", []Mark{{7, "<microcompact>"}}},
		},
		Spots: Kind{"cold after a pause", []Mark{{6, "round 6 came after a pause"}}},
	}
}

// The whole drawing, to be looked at after -update.
func TestGolden(t *testing.T) {
	name := filepath.Join("testdata", "chart.svg")
	got := sample().SVG()
	if *update {
		if err := os.WriteFile(name, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the drawing differs (-want +got):\n%s", diff)
	}
}

// Whatever is drawn, it is a well-formed document without numbers that are none.
func TestDrawingsAreWellFormed(t *testing.T) {
	long := sample()
	for i := range 5_000 {
		long.Line.Values = append(long.Line.Values, float64(i*i%30_000))
	}
	for name, c := range map[string]*Chart{
		"nothing": {}, "one step": {Line: Series{"a", []float64{5}}, Area: Series{"b", []float64{-5}}},
		"zeros": {Line: Series{"a", []float64{0, 0, 0}}, Spots: Kind{"c", []Mark{{0, "before"}, {4, "behind"}}}}, "sample": sample(), "long": long,
	} {
		t.Run(name, func(t *testing.T) {
			svg := c.SVG()
			d := xml.NewDecoder(bytes.NewReader(svg))
			for {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			for _, bad := range []string{"NaN", "Inf", "%!"} {
				if strings.Contains(string(svg), bad) {
					t.Errorf("it holds %s", bad)
				}
			}
		})
	}
}

// Colours come from the style alone, which has both sets.
func TestColoursAreForLightAndDark(t *testing.T) {
	_, drawn, found := strings.Cut(string(sample().SVG()), "</style>")
	if !found || strings.ContainsRune(strings.ReplaceAll(drawn, "&#34;", ""), '#') {
		t.Errorf("colours are named outside of the style:\n%s", drawn)
	}
	light, dark, found := strings.Cut(style, "@media (prefers-color-scheme:dark)")
	if !found {
		t.Fatal("there is nothing for the dark")
	}
	for _, name := range []string{"surface", "ink", "soft", "grid", "axis", "line", "area", "bound", "mark-0", "mark-1", "mark-2"} {
		if !strings.Contains(light, "--"+name+":#") || !strings.Contains(dark, "--"+name+":#") {
			t.Errorf("%s has not both colours", name)
		}
	}
}

// Where marks of two kinds stand at one place their heads are in different rows, and many
// of one kind are drawn smaller and thinner.
func TestManyMarksStayReadable(t *testing.T) {
	c := sample()
	c.Kinds[1].Marks = []Mark{{4, "clearing before round 4"}}
	few := string(c.SVG())
	if !strings.Contains(few, `mark-0"><title>compaction`) || strings.Contains(few, "dense\"") {
		t.Errorf("one mark is drawn as one of many:\n%s", few)
	}
	heads := regexp.MustCompile(`<path class="head" d="M[0-9.]+ ([0-9.]+)h10l-5 8z"/></g>\n(?:.*\n)?.*<circle class="head" cx="[0-9.]+" cy="([0-9.]+)" r="4.5"/></g>`).FindStringSubmatch(few)
	if heads == nil {
		t.Fatalf("the heads are not there:\n%s", few)
	}
	bottom, _ := strconv.ParseFloat(heads[2], 64)
	top, _ := strconv.ParseFloat(heads[1], 64)
	if bottom+4.5 > top {
		t.Errorf("a circle that ends at %v covers a triangle from %v on", bottom+4.5, top)
	}
	for i := range 500 {
		c.Line.Values = append(c.Line.Values, float64(i*i%30_000))
		c.Kinds[0].Marks = append(c.Kinds[0].Marks, Mark{i + 5, "compaction"})
	}
	if many := string(c.SVG()); !strings.Contains(many, `mark-0 dense">`) || strings.Contains(many, `mark-1 dense">`) {
		t.Error("many marks are drawn as few, or few as many")
	}
}

// The legend has as many rows as its names need, and the plot begins below them.
func TestLegendsWrap(t *testing.T) {
	c := sample()
	d := &canvas{chart: c, steps: 1}
	d.layOut()
	for range 3 {
		c.Line.Name += " of everything that was asked"
		c.Spots.Name += ", long enough for a row"
	}
	wide := &canvas{chart: c, steps: 1}
	wide.layOut()
	if wide.above <= d.above || wide.height-wide.above != d.height-d.above {
		t.Errorf("the plot begins at %v with long names, at %v with short ones", wide.above, d.above)
	}
	for _, n := range wide.names {
		if end := n.x + float64(len([]rune(n.label)))*charWidth; n.x > left && end > width {
			t.Errorf("%q ends at %v", n.label, end)
		}
	}
}

// The words for those who can't see it are a sentence.
func TestWordsTellWhatIsShown(t *testing.T) {
	want := "input in tokens, over 7 rounds. limit L: 25,000. threshold T: 12,000. compaction: 1. clearing: 0. microcompact: 1. cold after a pause: 1."
	if got := sample().words(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSteps(t *testing.T) {
	for _, tt := range []struct {
		top  float64
		most int
		want []float64
	}{
		{26_000, 6, []float64{0, 5_000, 10_000, 15_000, 20_000, 25_000}},
		{200_000, 6, []float64{0, 50_000, 100_000, 150_000, 200_000}},
		{131, 12, []float64{0, 20, 40, 60, 80, 100, 120}},
		{1, 6, []float64{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1}},
	} {
		if diff := cmp.Diff(tt.want, ticks(tt.top, step(tt.top, tt.most))); diff != "" {
			t.Errorf("up to %v (-want +got):\n%s", tt.top, diff)
		}
	}
	for v, want := range map[float64]string{0: "0", 999: "999", 1_000: "1,000", 1_234_567.4: "1,234,567", -1_000: "-1,000", -100: "-100"} {
		if got := grouped(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
}
