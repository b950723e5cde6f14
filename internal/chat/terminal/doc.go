// Package terminal is the chat for people: an input line with the meter before it at the
// bottom of the terminal, above it what is going on, and above that the conversation, which
// scrolls into the terminal's own history.
//
// It is thin: it decides how things look ([style]), where lines are broken ([printer]) and
// what keys mean. What is shown and done is decided by [chat.View], and the terminal itself
// (keys, redrawing, sizes, colours that it has) by Bubble Tea. NO_COLOR and the kinds of
// terminals are respected there.
//
// All state belongs to the goroutine that Bubble Tea runs [screen.Update] in. What it prints
// goes out in order, as only one piece is on its way at any time.
package terminal
