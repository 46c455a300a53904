package seal_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/seal"
)

// channelTime is far above what a handshake takes.
const channelTime = 20 * time.Second

func newChannelMaker(t testing.TB, r *seal.SessionRing, self string) *seal.ChannelMaker {
	t.Helper()
	c, err := r.NewChannelMaker(self)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// pipe is a connection over loopback: both sides may write at once.
func pipe(t testing.TB) (client, server net.Conn) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Close()
	})
	return client, server
}

// connect makes a channel over two connections, which may be the ends of one.
func connect(t testing.TB, asker, answerer *seal.ChannelMaker, to, from string, client, server net.Conn) (a, b net.Conn, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), channelTime)
	defer cancel()
	var asked, answered error
	var both sync.WaitGroup
	both.Go(func() { a, asked = asker.Ask(ctx, client, to) })
	both.Go(func() { b, answered = answerer.Answer(ctx, server, from) })
	both.Wait()
	return a, b, errors.Join(asked, answered)
}

func TestChannel(t *testing.T) {
	t.Parallel()
	r := newRing(t)
	one, two := newChannelMaker(t, r.SessionRing, "one"), newChannelMaker(t, r.replica(t), "two")
	if from, err := two.ReadHello(one.Hello("two")); err != nil || from != "one" {
		t.Errorf("hello: %q, %v", from, err)
	}
	for name, text := range map[string]string{"for another replica": one.Hello("three"), "of other keys": newChannelMaker(t, newRing(t).SessionRing, "one").Hello("two"), "nothing": ""} {
		if from, err := two.ReadHello(text); err == nil {
			t.Errorf("a hello %s: %q", name, from)
		}
	}
	client, server := pipe(t)
	a, b, err := connect(t, one, two, "two", "one", client, server)
	if err != nil {
		t.Fatal(err)
	}
	for _, ends := range [][2]net.Conn{{a, b}, {b, a}} {
		if _, err := io.WriteString(ends[0], "hello"); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 5)
		if _, err := io.ReadFull(ends[1], got); err != nil || string(got) != "hello" {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// Neither side gets a connection to somebody without a key of the ring, to another
// replica than the one that it means, or to itself.
func TestChannelRefuses(t *testing.T) {
	t.Parallel()
	r, other := newRing(t), newRing(t)
	one, two := newChannelMaker(t, r.SessionRing, "one"), newChannelMaker(t, r.SessionRing, "two")
	for name, tt := range map[string]struct {
		asker, answerer *seal.ChannelMaker
		to, from        string
	}{
		"an answerer with other keys":   {one, newChannelMaker(t, other.SessionRing, "two"), "two", "one"},
		"an asker with other keys":      {newChannelMaker(t, other.SessionRing, "one"), two, "two", "one"},
		"another answerer than meant":   {one, two, "three", "one"},
		"another asker than said hello": {one, two, "two", "three"},
	} {
		client, server := pipe(t)
		a, b, err := connect(t, tt.asker, tt.answerer, tt.to, tt.from, client, server)
		if a != nil || b != nil || err == nil {
			t.Errorf("%s: the asker got a connection: %t, the answerer: %t", name, a != nil, b != nil)
		}
	}
}

// Somebody in between who passes on all that is sent, and ends TLS on neither side,
// learns nothing; who ends it on both has no proof that fits.
func TestChannelInTheMiddle(t *testing.T) {
	t.Parallel()
	r := newRing(t)
	one, two, middle := newChannelMaker(t, r.SessionRing, "one"), newChannelMaker(t, r.SessionRing, "two"), newChannelMaker(t, newRing(t).SessionRing, "two")
	client, toMiddle := pipe(t)
	fromMiddle, server := pipe(t)
	ctx, cancel := context.WithTimeout(t.Context(), channelTime)
	defer cancel()
	// Bare sessions without proofs of their own: what passes is passed on.
	var all sync.WaitGroup
	var a, b net.Conn
	all.Go(func() { a, _ = one.Ask(ctx, client, "two") })
	all.Go(func() { b, _ = two.Answer(ctx, server, "one") })
	inner, outer := seal.BareServer(middle, toMiddle), seal.BareClient(fromMiddle)
	go func() { _, _ = io.Copy(outer, inner); _ = outer.Close() }()
	go func() { _, _ = io.Copy(inner, outer); _ = inner.Close() }()
	all.Wait()
	if a != nil || b != nil {
		t.Error("a proof of one session fits another")
	}
}

// A connection on which a byte is changed in the handshake is not handed out, and
// one on which that happens later ends.
func TestChannelChanged(t *testing.T) {
	t.Parallel()
	r := newRing(t)
	one, two := newChannelMaker(t, r.SessionRing, "one"), newChannelMaker(t, r.SessionRing, "two")
	client, server := pipe(t)
	flipping := &flipper{Conn: client}
	a, b, err := connect(t, one, two, "two", "one", flipping, server)
	if err != nil {
		t.Fatal(err)
	}
	flipping.on = true
	if _, err := io.WriteString(a, "hello"); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Read(make([]byte, 8)); err == nil {
		t.Errorf("%d bytes of what was changed were taken", n)
	}
	client, server = pipe(t)
	if a, b, err := connect(t, one, two, "two", "one", &flipper{Conn: client, on: true}, server); err == nil || a != nil || b != nil {
		t.Error("a handshake that was changed made a channel")
	}
}

// flipper changes the last byte of all that is written.
type flipper struct {
	net.Conn
	on bool
}

func (f *flipper) Write(p []byte) (int, error) {
	if f.on {
		p = append([]byte(nil), p...)
		p[len(p)-1] ^= 1
	}
	return f.Conn.Write(p)
}

// Who says nothing is not waited for longer than ctx lasts.
func TestChannelEndsInTime(t *testing.T) {
	t.Parallel()
	one := newChannelMaker(t, newRing(t).SessionRing, "one")
	client, _ := pipe(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if conn, err := one.Ask(ctx, client, "two"); conn != nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, %v", conn, err)
	}
}

// What is sent over a channel costs next to no allocations.
func TestChannelCost(t *testing.T) {
	r := newRing(t)
	client, server := pipe(t)
	a, b, err := connect(t, newChannelMaker(t, r.SessionRing, "one"), newChannelMaker(t, r.SessionRing, "two"), "two", "one", client, server)
	if err != nil {
		t.Fatal(err)
	}
	message, got := make([]byte, 1<<10), make([]byte, 1<<10)
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := a.Write(message); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(b, got); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 3 {
		t.Errorf("%v allocations for a message of 1 KiB", allocs)
	}
	t.Logf("figure: %v allocations for a message of 1 KiB between replicas", allocs)
}

func BenchmarkChannel(b *testing.B) {
	r := newRing(b)
	one, two := newChannelMaker(b, r.SessionRing, "one"), newChannelMaker(b, r.SessionRing, "two")
	for b.Loop() {
		client, server := pipe(b)
		if _, _, err := connect(b, one, two, "two", "one", client, server); err != nil {
			b.Fatal(err)
		}
		_, _ = client.Close(), server.Close()
	}
}
