package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func sample() *Chart {
	return &Chart{
		Title: `Context of "a" & <b>`, Subtitle: "at a limit of 25,000 tokens", XLabel: "round", YLabel: "input in tokens",
		Line:   Series{"whole input", []float64{4_000, 9_000, 12_500, 7_000, 8_200, 11_900, 6_100}},
		Area:   Series{"of it, read from the cache", []float64{0, 4_000, 9_000, 0, 7_000, 8_200, 3_000}},
		Levels: []Level{{"limit L", 25_000, true}, {"threshold T", 12_000, false}},
		Kinds: []Kind{
			{"compaction", []Mark{{4, "compaction before round 4"}}}, {"clearing", nil}, {"microcompact", []Mark{{7, "<microcompact>"}}},
		},
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
		"zeros": {Line: Series{"a", []float64{0, 0, 0}}}, "sample": sample(), "long": long,
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
