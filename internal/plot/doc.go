// Package plot draws one kind of chart: quantities over a count of steps, as a line with
// the part of it that is of interest filled, levels across it, and marks where something
// happened.
//
// A chart is an SVG document of its own that needs nothing else: it brings its colours for
// light and for dark, and says in words what it shows to those who can't see it. The same
// chart always gives the same bytes. Nothing here blocks, remembers or fails; everything
// may be used from anywhere.
package plot
