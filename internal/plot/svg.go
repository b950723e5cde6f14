package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The drawing, in units of the document: what is around the plot and the plot itself.
const (
	width, plotHeight = 1000.0, 308.0
	left, right       = 78.0, 140.0
	below             = 56.0
	legendTop         = 74.0 // the base of its first row
	legendRow         = 18.0
	lane              = 12.0 // the height of a row of heads
	headWidth         = 10.0
	charWidth         = 6.4 // of the labels' font, on average
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
.dense line{stroke-width:.75;stroke-opacity:.6}.head{stroke:var(--surface);stroke-width:1;stroke-dasharray:none}.spot{fill:var(--surface);stroke:var(--ink);stroke-width:1.5}
`

// canvas is a drawing in the making.
type canvas struct {
	buf   bytes.Buffer
	chart *Chart
	top   float64 // of the values
	steps int
	names []name // of the legend
	// above is where the plot begins, and height what all takes.
	above, height float64
}

// SVG draws the chart.
func (c *Chart) SVG() []byte {
	d := &canvas{chart: c, top: c.top() * 1.04, steps: c.steps()}
	d.layOut()
	d.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" aria-labelledby="title desc">`, num(width), num(d.height))
	d.add(`<title id="title">%s</title><desc id="desc">%s</desc><style>%s</style>`, text(c.Title), text(c.words()), style)
	d.add(`<rect class="surface" width="%s" height="%s"/>`, num(width), num(d.height))
	d.add(`<text class="title" x="%s" y="28">%s</text><text class="soft" x="%s" y="48">%s</text>`, num(left), text(c.Title), num(left), text(c.Subtitle))
	d.axes()
	d.area()
	d.marks()
	d.levels()
	d.line()
	d.spots()
	d.legend()
	d.add("</svg>")
	return d.buf.Bytes()
}

// words say what the chart shows.
func (c *Chart) words() string {
	parts := []string{fmt.Sprintf("%s, over %d %s.", c.YLabel, c.steps(), c.Steps)}
	for _, l := range c.Levels {
		parts = append(parts, fmt.Sprintf("%s: %s.", l.Name, grouped(l.Value)))
	}
	for _, k := range append(slices.Clone(c.Kinds), c.Spots) {
		if k.Name != "" {
			parts = append(parts, fmt.Sprintf("%s: %d.", k.Name, len(k.Marks)))
		}
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
	return d.above + plotHeight*(1-max(value, 0)/d.top)
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
		d.add(`<text class="soft" text-anchor="middle" x="%s" y="%s">%s</text>`, num(d.x(v)), num(d.above+plotHeight+18), grouped(v))
	}
	middle := d.above + plotHeight/2
	d.add(`<text class="label" text-anchor="middle" x="%s" y="%s">%s</text>`, num(left+(width-left-right)/2), num(d.height-14), text(d.chart.XLabel))
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

// marks stand between the step before and their own. Each kind has its heads in a row of
// its own, so that those of two kinds at one place are seen; where they are many they are
// smaller and the lines thinner.
func (d *canvas) marks() {
	row := 0
	for k, kind := range d.chart.Kinds {
		if len(kind.Marks) == 0 {
			continue
		}
		size := d.headSize(kind.Marks)
		class := ""
		if size < 1 {
			class = " dense"
		}
		y := d.above - lane*float64(row)
		row++
		for _, m := range kind.Marks {
			x := d.x(float64(m.Step) - 0.5)
			d.add(`<g class="mark mark-%d%s"><title>%s</title><line x1="%s" x2="%s" y1="%s" y2="%s"/>%s</g>`,
				k%3, class, text(m.Text), num(x), num(x), num(y), num(d.above+plotHeight), head(k%3, x, y, size))
		}
	}
}

// headSize is how large the heads of marks are drawn, 0.5 to 1: so that those of most of
// them do not touch.
func (d *canvas) headSize(marks []Mark) float64 {
	var gaps []float64
	for i := range marks[:max(len(marks)-1, 0)] {
		gaps = append(gaps, d.x(float64(marks[i+1].Step))-d.x(float64(marks[i].Step)))
	}
	if len(gaps) == 0 {
		return 1
	}
	slices.Sort(gaps)
	return min(max(gaps[len(gaps)/10]/headWidth, 0.5), 1)
}

// head is what a mark has at its upper end, another shape for each kind.
func head(kind int, x, y, size float64) string {
	half := headWidth / 2 * size
	switch kind {
	case 0:
		return fmt.Sprintf(`<path class="head" d="M%s %sh%sl%s %sz"/>`, num(x-half), num(y-8*size), num(2*half), num(-half), num(8*size))
	case 1:
		return fmt.Sprintf(`<circle class="head" cx="%s" cy="%s" r="%s"/>`, num(x), num(y-4.5*size), num(4.5*size))
	}
	return fmt.Sprintf(`<rect class="head" x="%s" y="%s" width="%s" height="%s"/>`, num(x-4*size), num(y-8*size), num(8*size), num(8*size))
}

// spots mark steps on the line.
func (d *canvas) spots() {
	values := d.chart.Line.Values
	for _, m := range d.chart.Spots.Marks {
		if m.Step < 1 || m.Step > len(values) {
			continue
		}
		d.add(`<circle class="spot" cx="%s" cy="%s" r="3.5"><title>%s</title></circle>`,
			num(d.x(float64(m.Step))), num(d.y(values[m.Step-1])), text(m.Text))
	}
}

// layOut places the legend, and the plot below it and below the heads of the marks.
func (d *canvas) layOut() {
	c := d.chart
	var lanes float64
	if c.Line.Name != "" {
		d.name(nameLine, c.Line.Name)
	}
	if c.Area.Name != "" {
		d.name(nameArea, c.Area.Name)
	}
	for k, kind := range c.Kinds {
		if len(kind.Marks) > 0 {
			d.name(nameMark+k%3, fmt.Sprintf("%s (%d)", kind.Name, len(kind.Marks)))
			lanes++
		}
	}
	if n := len(c.Spots.Marks); n > 0 {
		d.name(nameSpot, fmt.Sprintf("%s (%d)", c.Spots.Name, n))
	}
	d.above = legendTop + 16 + lane*lanes
	if n := len(d.names); n > 0 {
		d.above = d.names[n-1].y + 16 + lane*lanes
	}
	d.height = d.above + plotHeight + below
}

// name is one in the legend.
type name struct {
	what  int
	label string
	x, y  float64
}

// What is named; nameMark is followed by those of the other kinds.
const (
	nameLine = iota
	nameArea
	nameSpot
	nameMark
)

// name puts a name behind the last one, or in the next row.
func (d *canvas) name(what int, label string) {
	const key, gap = 24.0, 22.0
	wide := func(label string) float64 { return key + float64(len([]rune(label)))*charWidth }
	n := name{what: what, label: label, x: left, y: legendTop}
	if last := len(d.names) - 1; last >= 0 {
		before := d.names[last]
		n.x, n.y = before.x+wide(before.label)+gap, before.y
		if n.x+wide(label) > width-gap {
			n.x, n.y = left, before.y+legendRow
		}
	}
	d.names = append(d.names, n)
}

// legend names the line, the area, the marks and the spots.
func (d *canvas) legend() {
	for _, n := range d.names {
		var key string
		switch n.what {
		case nameLine:
			key = fmt.Sprintf(`<line class="line" x1="%s" x2="%s" y1="%s" y2="%s"/>`, num(n.x), num(n.x+18), num(n.y-4), num(n.y-4))
		case nameArea:
			key = fmt.Sprintf(`<rect class="area" x="%s" y="%s" width="18" height="11"/>`, num(n.x), num(n.y-10))
		case nameSpot:
			key = fmt.Sprintf(`<circle class="spot" cx="%s" cy="%s" r="3.5"/>`, num(n.x+9), num(n.y-4))
		default:
			kind := n.what - nameMark
			key = fmt.Sprintf(`<g class="mark mark-%d">%s</g>`, kind, head(kind, n.x+9, n.y, 1))
		}
		d.add(`%s<text class="label" x="%s" y="%s">%s</text>`, key, num(n.x+24), num(n.y), text(n.label))
	}
}
