package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

// replayMode is what a replay is for.
type replayMode string

// The modes, each but the first with a flag of its own that chooses it.
const (
	replayModePlain   replayMode = ""
	replayModeCompact replayMode = "compact"
	replayModeFacts   replayMode = "facts"
	replayModeCost    replayMode = "cost"
)

// replayModesOf returns the modes that a flag means something in; nil: in all.
func replayModesOf(name string) []replayMode {
	switch name {
	case "database":
		return []replayMode{replayModePlain, replayModeCompact, replayModeFacts}
	case "limit", "window":
		return []replayMode{replayModeCompact, replayModeFacts, replayModeCost}
	case "summaries":
		return []replayMode{replayModeCompact, replayModeFacts}
	case "chain", "csv":
		return []replayMode{replayModeCompact, replayModeCost}
	case "price-model", "summary-mode", "breakpoints", "check", "plot", "sweep", "markdown", "flat-base":
		return []replayMode{replayModeCost}
	}
	return nil
}

// mode says what the replay is for, and refuses whatever it would leave unheeded.
func (f *replayFlags) mode(fs *flag.FlagSet) (replayMode, error) {
	mode := replayModePlain
	var err error
	fs.Visit(func(set *flag.Flag) {
		chosen := replayMode(set.Name)
		if err != nil || !f.chooses(chosen) {
			return
		}
		if mode != replayModePlain {
			err = &usageError{fmt.Sprintf("replay: --%s and --%s do not go together", mode, chosen)}
		}
		mode = chosen
	})
	if err != nil {
		return mode, err
	}
	fs.Visit(func(set *flag.Flag) {
		if modes := replayModesOf(set.Name); err == nil && modes != nil && !slices.Contains(modes, mode) {
			err = &usageError{fmt.Sprintf("replay: --%s %s", set.Name, goesWith(modes))}
		}
	})
	switch {
	case err != nil:
		return mode, err
	case f.compact.facts < 0:
		return mode, &usageError{"replay: --facts is at least 1"}
	case f.compact.chain < 0:
		return mode, &usageError{"replay: --chain is a number of tokens, at least 1; 0: nothing is joined"}
	case f.compact.window < 0:
		return mode, &usageError{"replay: --window is a number of tokens, at least 1; 0: it has no end"}
	case mode == replayModeFacts && fs.NArg() > 0:
		return mode, &usageError{fmt.Sprintf("replay: --facts takes no files, as %s", fs.Arg(0))}
	case mode != replayModeFacts && fs.NArg() == 0:
		return mode, &usageError{"replay: no files; docs/replay.md describes their format"}
	}
	return mode, nil
}

// chooses reports whether a mode was asked for.
func (f *replayFlags) chooses(mode replayMode) bool {
	switch mode {
	case replayModeCompact:
		return f.compact.on
	case replayModeFacts:
		return f.compact.facts != 0
	case replayModeCost:
		return f.cost.on
	case replayModePlain:
	}
	return false
}

// goesWith names the flags that another one needs.
func goesWith(modes []replayMode) string {
	var words []string
	for _, mode := range modes {
		if mode != replayModePlain {
			words = append(words, "--"+string(mode))
		}
	}
	with := strings.Join(words, " or ")
	if slices.Contains(modes, replayModePlain) {
		return "goes with " + with + " or with none of these modes"
	}
	return "goes with " + with
}

// writable checks that a file can be written that a long run ends with. What it holds
// stays as it is; one that is not there is made, and empty.
func writable(name string) error {
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644) //nolint:gosec // the user names the file, which is for everybody
	if err != nil {
		return err
	}
	return f.Close()
}
