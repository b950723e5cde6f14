package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// The drawing, in units of the document: what is around the plot and the plot itself.
const (
	width, height = 1000.0, 460.0
	left, right   = 78.0, 140.0
	above, below  = 96.0, 56.0
	charWidth     = 6.6 // of the labels' font, on average
)

// style gives the colours for light and for dark, all of them by their use.
const style = `
:root{color-scheme:light dark}
svg{--surface:#fcfcfb;--ink:#0b0b0b;--soft:#52514e;--grid:#e4e3df;--axis:#a5a49f;--line:#256abf;--area:#86b6ef;--bound:#b3261e;--mark-0:#c2410c;--mark-1:#0f766e;--mark-2:#7c3aed;font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
@media (prefers-color-scheme:dark){svg{--surface:#1a1a19;--ink:#fff;--soft:#c3c2b7;--grid:#31312e;--axis:#6d6c67;--line:#6da7ec;--area:#1c5cab;--bound:#f2746b;--mark-0:#f0883e;--mark-1:#3fb8a8;--mark-2:#b69cf6}}
.surface{fill:var(--surface)}.title{fill:var(--ink);font-size:17px;font-weight:600}.label{fill:var(--ink)}.soft{fill:var(--soft)}
.grid{stroke:var(--grid)}.axis{stroke:var(--axis)}.line{fill:none;stroke:var(--line);stroke-width:2;stroke-linejoin:round}.area{fill:var(--area);fill-opacity:.55}
.level{stroke:var(--soft);stroke-width:1.5;stroke-dasharray:7 4}.bound{stroke:var(--bound);stroke-width:1.5}.bound-label{fill:var(--bound)}
.mark{stroke-width:1.25}.mark-0{stroke:var(--mark-0);fill:var(--mark-0)}.mark-1{stroke:var(--mark-1);fill:var(--mark-1);stroke-dasharray:4 3}.mark-2{stroke:var(--mark-2);fill:var(--mark-2);stroke-dasharray:1.5 2.5}
.head{stroke:none}
`

// canvas is a drawing in the making.
type canvas struct {
	buf   bytes.Buffer
	chart *Chart
	top   float64 // of the values
	steps int
}

// SVG draws the chart.
func (c *Chart) SVG() []byte {
	d := &canvas{chart: c, top: c.top() * 1.04, steps: c.steps()}
	d.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" aria-labelledby="title desc">`, num(width), num(height))
	d.add(`<title id="title">%s</title><desc id="desc">%s</desc><style>%s</style>`, text(c.Title), text(c.words()), style)
	d.add(`<rect class="surface" width="%s" height="%s"/>`, num(width), num(height))
	d.add(`<text class="title" x="%s" y="28">%s</text><text class="soft" x="%s" y="48">%s</text>`, num(left), text(c.Title), num(left), text(c.Subtitle))
	d.axes()
	d.area()
	d.marks()
	d.levels()
	d.line()
	d.legend()
	d.add("</svg>")
	return d.buf.Bytes()
}

// words say what the chart shows.
func (c *Chart) words() string {
	parts := []string{fmt.Sprintf("%s over %d of: %s.", c.YLabel, c.steps(), c.XLabel)}
	for _, l := range c.Levels {
		parts = append(parts, fmt.Sprintf("%s: %s.", l.Name, grouped(l.Value)))
	}
	for _, k := range c.Kinds {
		parts = append(parts, fmt.Sprintf("%s: %d.", k.Name, len(k.Marks)))
	}
	return strings.Join(parts, " ")
}

func (d *canvas) add(format string, args ...any) {
	fmt.Fprintf(&d.buf, format, args...)
	d.buf.WriteByte('\n')
}

// x is where a step is, y where a value is.
func (d *canvas) x(at float64) float64 {
	return left + (width-left-right)*(at-0.5)/float64(d.steps)
}

func (d *canvas) y(value float64) float64 {
	return height - below - (height-above-below)*max(value, 0)/d.top
}

// num writes a coordinate with at most one digit behind the point.
func num(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

func text(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil { // a builder takes everything
		return ""
	}
	return b.String()
}

func (d *canvas) hline(class string, y float64) {
	d.add(`<line class="%s" x1="%s" x2="%s" y1="%s" y2="%s"/>`, class, num(left), num(width-right), num(y), num(y))
}

func (d *canvas) axes() {
	for _, v := range ticks(d.top, step(d.top, 6)) {
		class := "grid"
		if v == 0 {
			class = "axis"
		}
		d.hline(class, d.y(v))
		d.add(`<text class="soft" text-anchor="end" x="%s" y="%s">%s</text>`, num(left-8), num(d.y(v)+4), grouped(v))
	}
	distance := max(step(float64(d.steps), 12), 1)
	for _, v := range ticks(float64(d.steps), distance) {
		if v == 0 && distance == 1 {
			continue
		}
		v = max(v, 1)
		d.add(`<text class="soft" text-anchor="middle" x="%s" y="%s">%s</text>`, num(d.x(v)), num(height-below+18), grouped(v))
	}
	middle := above + (height-above-below)/2
	d.add(`<text class="label" text-anchor="middle" x="%s" y="%s">%s</text>`, num(left+(width-left-right)/2), num(height-14), text(d.chart.XLabel))
	d.add(`<text class="label" text-anchor="middle" transform="translate(18 %s) rotate(-90)">%s</text>`, num(middle), text(d.chart.YLabel))
}

// path returns the points of a series.
func (d *canvas) path(values []float64) string {
	points := make([]string, len(values))
	for i, v := range values {
		points[i] = num(d.x(float64(i+1))) + "," + num(d.y(v))
	}
	return strings.Join(points, " ")
}

func (d *canvas) area() {
	values := d.chart.Area.Values
	if len(values) == 0 {
		return
	}
	d.add(`<polygon class="area" points="%s,%s %s %s,%s"/>`, num(d.x(1)), num(d.y(0)), d.path(values), num(d.x(float64(len(values)))), num(d.y(0)))
}

func (d *canvas) line() {
	if values := d.chart.Line.Values; len(values) > 0 {
		d.add(`<polyline class="line" points="%s"/>`, d.path(values))
	}
}

func (d *canvas) levels() {
	for _, l := range d.chart.Levels {
		class, label := "level", "soft"
		if l.Bound {
			class, label = "bound", "bound-label"
		}
		d.hline(class, d.y(l.Value))
		d.add(`<text class="%s" x="%s" y="%s">%s %s</text>`, label, num(width-right+8), num(d.y(l.Value)+4), text(l.Name), grouped(l.Value))
	}
}

// marks stand between the step before and their own.
func (d *canvas) marks() {
	for k, kind := range d.chart.Kinds {
		for _, m := range kind.Marks {
			x := d.x(float64(m.Step) - 0.5)
			d.add(`<g class="mark mark-%d"><title>%s</title><line x1="%s" x2="%s" y1="%s" y2="%s"/>%s</g>`,
				k%3, text(m.Text), num(x), num(x), num(above), num(height-below), head(k%3, x, above))
		}
	}
}

// head is what a mark has at its upper end, another shape for each kind.
func head(kind int, x, y float64) string {
	switch kind {
	case 0:
		return fmt.Sprintf(`<path class="head" d="M%s %sh10l-5 8z"/>`, num(x-5), num(y-8))
	case 1:
		return fmt.Sprintf(`<circle class="head" cx="%s" cy="%s" r="4"/>`, num(x), num(y-4))
	}
	return fmt.Sprintf(`<rect class="head" x="%s" y="%s" width="7" height="7"/>`, num(x-3.5), num(y-8))
}

// legend names the line, the area and the marks.
func (d *canvas) legend() {
	x, y := left, 74.0
	name := func(key, label string) {
		d.add(`%s<text class="label" x="%s" y="%s">%s</text>`, key, num(x+24), num(y), text(label))
		x += 24 + float64(len([]rune(label)))*charWidth + 22
	}
	if d.chart.Line.Name != "" {
		name(fmt.Sprintf(`<line class="line" x1="%s" x2="%s" y1="%s" y2="%s"/>`, num(x), num(x+18), num(y-4), num(y-4)), d.chart.Line.Name)
	}
	if d.chart.Area.Name != "" {
		name(fmt.Sprintf(`<rect class="area" x="%s" y="%s" width="18" height="11"/>`, num(x), num(y-10)), d.chart.Area.Name)
	}
	for k, kind := range d.chart.Kinds {
		if len(kind.Marks) == 0 {
			continue
		}
		name(fmt.Sprintf(`<g class="mark mark-%d">%s</g>`, k%3, head(k%3, x+9, y)), fmt.Sprintf("%s (%d)", kind.Name, len(kind.Marks)))
	}
}
