package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/mattn/go-isatty"

	"sessiond/internal/chat"
	"sessiond/internal/chat/terminal"
	"sessiond/internal/client"
)

// pipeReconnects is how often a lost connection is tried to be made again where nobody is
// there to lose patience: for about half a minute.
const pipeReconnects = 10

// chat talks with a session: on a terminal for people, else line by line.
func (p *program) chat(ctx context.Context, args []string) error {
	fs := p.flags("chat")
	server := fs.String("url", defaultURL, "the server's WebSocket, or the address of its page")
	session := fs.String("session", "", "a session to go on with; without it a new one begins with the first message")
	model := fs.String("model", "", "the model that answers in new sessions; default: the server's")
	token := fs.String("token", "", "the server's token, if it wants one; better put into SESSIOND_TOKEN, where other users of this machine do not see it")
	if err := parse(fs, args, 0); err != nil {
		return err
	}
	if err := checkChat(*server, *session); err != nil {
		return err
	}
	if *token == "" {
		*token = p.environment("SESSIOND_TOKEN")
	}
	in, out, people := p.terminal()
	options := chat.LinkOptions{URL: wsURL(*server), Model: *model, Dial: client.Options{Token: *token}}
	if !people {
		options.Tries = pipeReconnects
	}
	link, err := chat.Connect(ctx, options)
	if err != nil {
		return notConnected(err, *token != "")
	}
	defer link.Close()
	view := chat.NewView(time.Local)
	first := view.Start(*session)
	if people {
		return terminal.Run(ctx, link, view, first, terminal.Options{In: in, Out: out, Environ: p.environ})
	}
	err = chat.Pipe(ctx, link, view, first, p.input(), p.stdout)
	if id := view.SessionID(); id != "" {
		_, told := fmt.Fprintf(p.stderr, "session %s\n", id)
		err = errors.Join(err, told)
	}
	return err
}

// checkChat refuses an address that none can be at, and what no session is named.
func checkChat(address, session string) error {
	to, err := url.Parse(wsURL(address))
	if err != nil || to.Scheme != "ws" && to.Scheme != "wss" || to.Host == "" {
		return &usageError{fmt.Sprintf("chat: --url: %q is no address such as %s", address, defaultURL)}
	}
	if session != "" && uuid.Validate(session) != nil {
		return &usageError{fmt.Sprintf("chat: --session: %q is no session's id", session)}
	}
	return nil
}

// notConnected tells people what to do if nobody answers, or the server wants a token.
func notConnected(err error, hasToken bool) error {
	if refused, ok := errors.AsType[*client.RefusedError](err); ok && refused.Code == http.StatusUnauthorized {
		if hasToken {
			return fmt.Errorf("%w; is it the right token? --token and SESSIOND_TOKEN give it", err)
		}
		return fmt.Errorf("%w; give the server's token with --token or in SESSIOND_TOKEN", err)
	}
	if nobody := (*net.OpError)(nil); !errors.As(err, &nobody) {
		return err
	}
	return fmt.Errorf("%w (is a server running? sessiond serve starts one)", err)
}

// input is what is read line by line; nothing, if the program was given none.
func (p *program) input() io.Reader {
	if p.stdin == nil {
		return strings.NewReader("")
	}
	return p.stdin
}

// terminal returns the terminal, if people are at both ends and it can redraw.
func (p *program) terminal() (in, out *os.File, ok bool) {
	in, isIn := p.stdin.(*os.File)
	out, isOut := p.stdout.(*os.File)
	ok = isIn && isOut && isatty.IsTerminal(in.Fd()) && isatty.IsTerminal(out.Fd()) && p.environment("TERM") != "dumb"
	return in, out, ok
}
