package limit_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

const mib = 1 << 20

func newBudget(total, perParty int64) *limit.ByteBudget {
	return limit.NewByteBudget(limit.ByteBudgetOptions{Total: total, PerParty: perParty, TotalSetting: "--total", PartySetting: "--party"})
}

func partyNamed(name string) limit.Party { return limit.Party{Tenant: "t", Issuer: "i", Subject: name} }

// soon is the context of a caller that waits for a moment only.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// A buffer counts until nobody holds it, and no longer: who waits for its room has it
// collected.
func TestByteBudgetCountsWhatIsHeld(t *testing.T) {
	t.Parallel()
	b := newBudget(10*mib, 8*mib)
	held, err := b.MakeBuffer(t.Context(), partyNamed("a"), 6*mib)
	if err != nil || cap(held) != 6*mib || len(held) != 0 || b.UsedBytes() != 6*mib {
		t.Fatalf("%d of %d, %v, %d are counted", len(held), cap(held), err, b.UsedBytes())
	}
	_, err = b.MakeBuffer(soon(t), partyNamed("a"), 3*mib)
	if e := junctor.AsError(err); e == nil || e.Code != junctor.CodeLimited || e.RetryAfter == 0 || !strings.Contains(e.Message, "--party") {
		t.Errorf("beyond the share of one: %v", err)
	}
	_, err = b.MakeBuffer(soon(t), partyNamed("b"), 5*mib)
	if e := junctor.AsError(err); e == nil || e.Code != junctor.CodeUnavailable || e.RetryAfter == 0 || !strings.Contains(e.Message, "--total") {
		t.Errorf("beyond the share of all: %v", err)
	}
	_, err = b.MakeBuffer(t.Context(), partyNamed("a"), 9*mib)
	if junctor.CodeOf(err) != junctor.CodeTooLarge || !strings.Contains(err.Error(), "--party") {
		t.Errorf("beyond what one may ever have: %v", err)
	}
	runtime.KeepAlive(held) // and no longer
	if next, err := b.MakeBuffer(t.Context(), partyNamed("a"), 7*mib); err != nil || cap(next) != 7*mib {
		t.Errorf("what nobody holds still counts: %v", err)
	}
}

// Small buffers cost nothing, nil counts nothing.
func TestByteBudgetLeavesSmallOnesAlone(t *testing.T) { // not in parallel: it counts allocations
	var none *limit.ByteBudget
	for _, b := range []*limit.ByteBudget{none, newBudget(mib, mib)} {
		if buf, err := b.MakeBuffer(t.Context(), partyNamed("a"), limit.MaxUncountedBytes); err != nil || b.UsedBytes() != 0 {
			t.Errorf("%d, %v, %d are counted", cap(buf), err, b.UsedBytes())
		}
	}
	if buf, err := none.ReadAll(t.Context(), partyNamed("a"), nil, bytes.NewReader(make([]byte, 3*mib)), -1, 4*mib); err != nil || len(buf) != 3*mib {
		t.Errorf("%d, %v", len(buf), err)
	}
	b, room, text := newBudget(mib, mib), make([]byte, 0, 8<<10), strings.NewReader("")
	if n := testing.AllocsPerRun(100, func() {
		text.Reset("a small message")
		if got, err := b.ReadAll(t.Context(), limit.Party{}, room, text, 15, mib); err != nil || string(got) != "a small message" {
			t.Error(string(got), err)
		}
	}); n > 0 {
		t.Errorf("a small message costs %v allocations", n)
	}
}

// Who waits for its own share keeps nobody else waiting.
func TestByteBudgetIsFair(t *testing.T) {
	t.Parallel()
	b := newBudget(16*mib, 4*mib)
	held, err := b.MakeBuffer(t.Context(), partyNamed("greedy"), 4*mib)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for range 20 {
		wg.Go(func() { _, _ = b.MakeBuffer(ctx, partyNamed("greedy"), 4*mib) })
	}
	for i := range 10 {
		// Not soon: the third buffer of a party has to wait for a collection.
		if _, err := b.MakeBuffer(t.Context(), partyNamed(string(rune('a'+i%3))), 2*mib); err != nil {
			t.Errorf("another party: %v", err)
		}
	}
	runtime.KeepAlive(held)
	cancel()
	wg.Wait()
}

// Never more than the total is counted, whatever many do at once, and all of it comes
// back.
func TestByteBudgetUnderLoad(t *testing.T) {
	t.Parallel()
	const total = 8 * mib
	b := newBudget(total, 4*mib)
	var wg sync.WaitGroup
	var answered, above atomic.Int64
	for i := range 64 {
		wg.Go(func() {
			who := partyNamed(string(rune('a' + i%4)))
			var r io.Reader = bytes.NewReader(make([]byte, mib))
			size := int64(mib)
			if i%2 == 1 {
				r, size = iotest.HalfReader(r), -1
			}
			got, err := b.ReadAll(t.Context(), who, nil, r, size, 2*mib)
			if err != nil || len(got) != mib {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if b.UsedBytes() > total {
				above.Add(1)
			}
			answered.Add(1)
		})
	}
	wg.Wait()
	if answered.Load() != 64 || above.Load() > 0 {
		t.Errorf("%d of 64 were answered; %d saw more than the total", answered.Load(), above.Load())
	}
	if !poll.Holds(30*time.Second, func() bool { runtime.GC(); return b.UsedBytes() == 0 }) {
		t.Fatalf("%d bytes are counted that nobody holds", b.UsedBytes())
	}
}

func TestByteBudgetReadAll(t *testing.T) {
	t.Parallel()
	b, who := newBudget(8*mib, 4*mib), partyNamed("a")
	for _, size := range []int{0, 1, 511, 512, 513, 64 << 10, 64<<10 + 1, 200_000, mib} {
		text := bytes.Repeat([]byte{'x'}, size)
		for _, said := range []int64{-1, int64(size)} {
			got, err := b.ReadAll(t.Context(), who, []byte("ab")[:0:2], bytes.NewReader(text), said, mib)
			if err != nil || !bytes.Equal(got, text) {
				t.Errorf("%d bytes, said to be %d: %d, %v", size, said, len(got), err)
			}
			got, err = b.ReadAll(t.Context(), who, nil, iotest.DataErrReader(bytes.NewReader(text)), said, int64(size))
			if err != nil || len(got) != size {
				t.Errorf("%d bytes at the limit: %d, %v", size, len(got), err)
			}
		}
		if size > 0 {
			if _, err := b.ReadAll(t.Context(), who, nil, bytes.NewReader(text), -1, int64(size)-1); !errors.Is(err, limit.ErrTooLong) {
				t.Errorf("%d bytes above the limit: %v", size, err)
			}
		}
	}
	if _, err := b.ReadAll(t.Context(), who, nil, iotest.ErrReader(io.ErrUnexpectedEOF), 10, mib); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a reader that breaks off: %v", err)
	}
	// Refused before anything is read.
	if _, err := b.ReadAll(t.Context(), who, nil, iotest.ErrReader(errors.New("it was read")), 5*mib, 6*mib); junctor.CodeOf(err) != junctor.CodeTooLarge {
		t.Errorf("more than a party may have: %v", err)
	}
}

// A reservation is released once, however often that is said.
func TestByteBudgetReserve(t *testing.T) {
	t.Parallel()
	b := newBudget(4*mib, 4*mib)
	release, err := b.ReserveBytes(t.Context(), partyNamed("a"), 3*mib)
	if err != nil || b.UsedBytes() != 3*mib {
		t.Fatalf("%v, %d", err, b.UsedBytes())
	}
	if _, err := b.ReserveBytes(soon(t), partyNamed("a"), 2*mib); junctor.CodeOf(err) != junctor.CodeLimited {
		t.Errorf("%v", err)
	}
	release()
	release()
	if b.UsedBytes() != 0 {
		t.Errorf("%d are counted", b.UsedBytes())
	}
}

// After a peak memory is given back, once.
func TestByteBudgetSettles(t *testing.T) {
	t.Parallel()
	freed := make(chan struct{}, 16)
	b := limit.NewByteBudget(limit.ByteBudgetOptions{Total: 64 * mib, PerParty: 64 * mib, FreeMemory: func() {
		runtime.GC()
		freed <- struct{}{}
	}})
	for range 3 {
		if _, err := b.MakeBuffer(t.Context(), partyNamed("a"), 8*mib); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-freed:
	case <-time.After(30 * time.Second):
		t.Fatal("memory was not given back")
	}
}

// Messages of unknown length, each of which takes most of the budget, do not wait for
// each other's half: one after the other is read.
func TestByteGrowthDoesNotDeadlock(t *testing.T) {
	t.Parallel()
	b := newBudget(16*mib, 16*mib)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			got, err := b.ReadAll(t.Context(), partyNamed("a"), nil, iotest.HalfReader(bytes.NewReader(make([]byte, 6*mib))), -1, 8*mib)
			if err != nil || len(got) != 6*mib {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	wg.Wait()
	// Far beyond what it takes: room may come only with a collection, which a busy machine delays.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	g := b.NewGrowth(ctx, partyNamed("b"), 8*mib)
	for _, size := range []int{100, 100_000, 400_000, 3 * mib} {
		buf, err := g.Grow(nil, size)
		if err != nil || cap(buf) < size {
			t.Errorf("%d: %d, %v", size, cap(buf), err)
		}
		g.FinishMessage()
	}
}
