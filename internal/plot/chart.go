package plot

// Chart is what is to be drawn. Series begin at step 1 and are expected to be as long as
// each other; values below 0 are drawn as 0.
type Chart struct {
	Title    string
	Subtitle string
	XLabel   string
	YLabel   string // with the unit
	Steps    string // what the steps are, in the plural
	Line     Series
	Area     Series // of the line's values, the part of interest
	Levels   []Level
	Kinds    []Kind // of marks; at most three look different
	Spots    Kind   // steps that stand out themselves, marked on the line
}

// Series is a row of values.
type Series struct {
	Name   string
	Values []float64
}

// Level is a line across the chart.
type Level struct {
	Name  string
	Value float64
	Bound bool // nothing ought to be above it
}

// Kind is one sort of things that happened.
type Kind struct {
	Name  string
	Marks []Mark
}

// Mark is one that happened just before a step.
type Mark struct {
	Step int
	Text string // shown when it is pointed at
}

// steps is how many there are.
func (c *Chart) steps() int { return max(len(c.Line.Values), len(c.Area.Values), 1) }

// top is the highest value that has to be shown.
func (c *Chart) top() float64 {
	top := 1.0
	for _, s := range []Series{c.Line, c.Area} {
		for _, v := range s.Values {
			top = max(top, v)
		}
	}
	for _, l := range c.Levels {
		top = max(top, l.Value)
	}
	return top
}
