package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// grid is a table for people.
type grid struct {
	head []string
	rows [][]string
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

// write writes the columns below each other.
func (g *grid) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range append([][]string{g.head}, g.rows...) {
		_, _ = fmt.Fprintln(t, strings.Join(row, "\t")+"\t")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// markdown writes the same for a page of documentation, where titles are no cries.
func (g *grid) markdown(w io.Writer) error {
	var b strings.Builder
	for _, title := range g.head {
		b.WriteString("| " + titled(title) + " ")
	}
	b.WriteString("|\n" + strings.Repeat("|---", len(g.head)) + "|\n")
	for _, row := range g.rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}

// titled writes a title in small letters, but for what is written in large ones always.
func titled(title string) string {
	words := strings.Fields(strings.ToLower(title))
	for i, w := range words {
		if w == "usd" || strings.HasPrefix(w, "usd,") {
			words[i] = strings.ToUpper(w)
		}
	}
	return strings.Join(words, " ")
}
