package session_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/png"
	"slices"
	"testing"
	"testing/synctest"

	"sessiond/ingest"
	"sessiond/llm"
	"sessiond/llm/llmtest"
	"sessiond/message"
	"sessiond/prompt"
	"sessiond/session"
	"sessiond/store"
	"sessiond/tokens"
)

// stuffed is a grey picture of some bytes, most of them in a chunk that viewers pass over,
// as cameras put their notes in one.
func stuffed(side, size int) message.Image {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, side, side))); err != nil {
		panic(err)
	}
	const afterHeader = 33
	raw := b.Bytes()
	chunk := append([]byte("juNk"), make([]byte, max(size-len(raw), 0))...)
	whole := binary.BigEndian.AppendUint32(bytes.Clone(raw[:afterHeader]), uint32(len(chunk)-4))
	whole = binary.BigEndian.AppendUint32(append(whole, chunk...), crc32.ChecksumIEEE(chunk))
	return message.Image{MimeType: "image/png", Data: base64.StdEncoding.EncodeToString(append(whole, raw[afterHeader:]...))}
}

// pictures counts the images of a request.
func pictures(req *llm.Request) int {
	n, _, _ := sights(req)
	return n
}

// seen answers a chat, and counts its pictures as the provider does.
func seen(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	resp, err := says("ok")(ctx, req, emit)
	if err == nil {
		resp.Usage.Input += int64(pictureTokens(req))
	}
	return resp, err
}

func pictureTokens(req *llm.Request) int {
	n := 0
	for i := range req.Messages {
		for _, b := range req.Messages[i].Content {
			if img, ok := b.(message.Image); ok {
				n += tokensOf(img)
			}
		}
	}
	return n
}

func tokensOf(img message.Image) int {
	raw, err := base64.StdEncoding.DecodeString(img.Data)
	if err != nil {
		panic(err)
	}
	w, h, err := tokens.ImageSize(img.MimeType, raw)
	if err != nil {
		panic(err)
	}
	return tokens.AnthropicImageTokens(w, h)
}

// TestManyHeavyPictures: a session of 92 MB of pictures never sends more than providers
// take. Those that are left out stay out, and they go several at a time.
func TestManyHeavyPictures(t *testing.T) {
	withClerk(t, 200_000, func(w *world, c *clerk) {
		t := w.t
		c.answer(seen)
		ref := w.create()
		var last session.SendResult
		for i := range 25 {
			last = w.sendBlocks(ref, message.Text{Text: "look"}, stuffed(960, 2_760_000))
			if turn := w.turn(ref, last.TurnID); turn.Status != store.TurnCompleted || turn.Rounds != 1 {
				t.Fatalf("turn %d is %s after %d rounds: %+v", i, turn.Status, turn.Rounds, turn.Error)
			}
		}
		w.completed(ref, "still there?")
		chats := w.chats()
		if len(chats) != 26 {
			t.Fatalf("%d model calls", len(chats))
		}
		changes := 0
		for i, req := range chats {
			if n := prompt.Bytes(req); n > llmtest.MaxBodyBytes {
				t.Errorf("request %d has %d bytes", i, n)
			}
			if i > 0 && !extends(req, chats[i-1]) {
				changes++
			}
		}
		if shown := pictures(chats[25]); shown < 3 || changes > 6 {
			t.Errorf("the last request shows %d pictures; requests changed their beginning %d times", shown, changes)
		}
		if n := w.get(ref).Generation; n > 0 {
			t.Errorf("it was compacted %d times", n)
		}
	})
}

// extends reports whether a request of words and pictures begins with all of another.
func extends(req, earlier *llm.Request) bool {
	for i := range earlier.Messages {
		if !slices.Equal(earlier.Messages[i].Content, req.Messages[i].Content) {
			return false
		}
	}
	return true
}

// TestARefusedBodyTeachesNoWindow: the bytes of a request say nothing of the tokens that a
// model takes, in no session.
func TestARefusedBodyTeachesNoWindow(t *testing.T) {
	withClerk(t, 200_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		w.talk(ref, 30, 1_000)
		before := w.context(ref).Budget
		c.say(llmtest.Fail(llmtest.Oversize()), says("ok"))
		sent := w.send(ref, "and now?")
		if turn := w.lastTurn(ref, sent); turn.Status != store.TurnCompleted {
			t.Errorf("the turn is %s: %+v", turn.Status, turn.Error)
		}
		if got := w.context(ref).Budget; got.Input != before.Input {
			t.Errorf("the limit is %d, was %d", got.Input, before.Input)
		}
		if got := w.context(w.create()).Budget; got.Input != before.Input {
			t.Errorf("the limit of another session is %d, was %d", got.Input, before.Input)
		}
		limits, err := w.mem.LearnedLimits(t.Context())
		if err != nil || len(limits) > 0 {
			t.Errorf("learned %+v, %v", limits, err)
		}
	})
}

// TestARefusedBodyShowsFewerPictures: the round is repeated with about half of the bytes
// until the service takes it; what fits is remembered, also after a restart, and in this
// session only.
func TestARefusedBodyShowsFewerPictures(t *testing.T) {
	const takes = 7_000_000
	withClerk(t, 200_000, func(w *world, c *clerk) {
		t := w.t
		c.answer(func(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
			if prompt.Bytes(req) > takes {
				return nil, llmtest.Oversize()
			}
			return seen(ctx, req, emit)
		})
		ref := w.create()
		look := func() *session.Turn {
			t.Helper()
			turn := w.turn(ref, w.sendBlocks(ref, message.Text{Text: "look"}, stuffed(700, 1_470_000)).TurnID)
			if turn.Status != store.TurnCompleted {
				t.Fatalf("the turn is %s: %+v", turn.Status, turn.Error)
			}
			return turn
		}
		for range 4 { // of 1.96 MB each
			look()
		}
		first := w.chats()
		if len(first) != 5 { // the fourth was refused once
			t.Fatalf("%d model calls", len(first))
		}
		if n := pictures(first[4]); n != 1 {
			t.Errorf("the repeated request shows %d pictures", n)
		}
		w.restart()
		look()
		w.completed(ref, "still there?")
		if n := len(w.chats()); n != 7 {
			t.Errorf("%d model calls", n)
		}
		if in := w.context(w.create()).Input; in != 200_000 {
			t.Errorf("the limit is %d", in)
		}
	})
}

// TestABodyThatIsNeverTaken: without pictures there is nothing left but to make the request
// smaller as one with too many tokens is. The turn ends, the session goes on.
func TestABodyThatIsNeverTaken(t *testing.T) {
	withClerk(t, 200_000, func(w *world, c *clerk) {
		t := w.t
		ref := w.create()
		w.talk(ref, 4, 500)
		c.answer(llmtest.Fail(llmtest.Oversize()))
		turn := w.turn(ref, w.sendBlocks(ref, message.Text{Text: "look"}, pixel()).TurnID)
		if turn.Status != store.TurnFailed || turn.Error == nil || turn.Error.Kind != session.TurnContextOverflow {
			t.Errorf("the turn is %s: %+v", turn.Status, turn.Error)
		}
		if n := pictures(w.chats()[len(w.chats())-1]); n != 0 {
			t.Errorf("the last request shows %d pictures", n)
		}
		c.answer(says("ok"))
		w.completed(ref, "still there?")
	})
}

// TestPicturesThatAreLeftOutTeachNoRatio: they are counted in the context, and not by the
// provider.
func TestPicturesThatAreLeftOutTeachNoRatio(t *testing.T) {
	withClerk(t, 200_000, func(w *world, c *clerk) {
		t := w.t
		c.answer(seen)
		ref := w.create()
		for range 12 {
			w.sendBlocks(ref, message.Text{Text: "look"}, stuffed(960, 2_760_000))
		}
		if hidden := 12 - pictures(w.chats()[11]); hidden == 0 {
			t.Fatal("none is left out")
		}
		if r := w.context(ref).Ratio; r != 1 {
			t.Errorf("the ratio is %v", r)
		}
		if n := len(w.chats()); n != 12 {
			t.Errorf("%d model calls", n)
		}
	})
}

// TestAFileLeavesRoomForWhatStandsBesideIt: a file is shown in less where the system prompt
// and the tools are large, or the model counts more, so that it alone does not reach the
// threshold.
func TestAFileLeavesRoomForWhatStandsBesideIt(t *testing.T) {
	for _, fixed := range []int{0, 4_000, 9_000} {
		withClerk(t, 25_000, func(w *world, _ *clerk) {
			t := w.t
			ref := w.create(func(s *session.Settings) {
				if fixed > 0 {
					s.SystemPrompt = words("Be brief.", fixed)
				}
			})
			long := words("a long file", 20_000)
			r, err := w.m.SendFiles(t.Context(), ref, nil, []ingest.File{{Name: "a.txt", Text: &long}}, session.WhenBusyQueue, session.Idempotency{})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			info := w.context(ref)
			if info.ContextTokens >= info.Threshold {
				t.Errorf("beside %d tokens a file makes %d of %d", fixed, info.ContextTokens, info.Threshold)
			}
			if shown := r.Value.Files[0].Shown; shown < info.Headroom*4/10 || shown > info.Headroom/2 {
				t.Errorf("beside %d tokens %d of a file are shown, of %d", fixed, shown, info.Headroom)
			}
			if n := len(w.compactions(ref)); n > 0 {
				t.Errorf("beside %d tokens it was compacted %d times", fixed, n)
			}
		})
	}
}
