package limit

import (
	"context"
	"runtime"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
)

// maxFreeGrowth is up to where a message of unknown length grows without waiting: no
// more than that is held by one who waits. Would callers wait with more, all of them
// together could hold what each of them waits for.
const maxFreeGrowth = 256 << 10

// ByteGrowth gives the memory of messages whose length is not known before they end,
// one after the other. Once a message is longer than a little, all that it can ever
// need is counted at once; Settle gives back what it did not need.
type ByteGrowth struct {
	budget *ByteBudget
	ctx    context.Context
	party    Party
	maxBytes   int64 // bytes of one message

	claimed int64  // counted for the message
	buffer  []byte // its memory
}

// Growth makes a ByteGrowth for messages of a party that have at most most bytes. ctx
// is that of all waits.
func (b *ByteBudget) Growth(ctx context.Context, who Party, most int64) *ByteGrowth {
	return &ByteGrowth{budget: b, ctx: ctx, party: who, maxBytes: most}
}

// Grow gives buf with room for n more bytes, as slices.Grow does. buf must be what
// Grow gave for the message before, or other memory. The errors are those of
// ByteBudget.Make; buf is as it was then.
func (g *ByteGrowth) Grow(buf []byte, n int) ([]byte, error) {
	need := len(buf) + n
	if need <= cap(buf) {
		return buf, nil
	}
	if g.budget == nil {
		return slices.Grow(buf, n), nil
	}
	if need <= maxFreeGrowth {
		g.buffer = slices.Grow(buf, n)
		return g.buffer, nil
	}
	if g.claimed == 0 {
		// When the last memory is made, half of it is there twice.
		claim := min(g.maxBytes+g.maxBytes/2+maxFreeGrowth, g.budget.options.PerParty)
		if err := g.budget.acquireBytes(g.ctx, g.party, claim); err != nil {
			return buf, err
		}
		g.claimed = claim
	}
	size := max(int64(need), 2*int64(cap(buf)))
	if size > g.maxBytes/2 {
		size = max(int64(need), g.maxBytes) // the last
	}
	if size+int64(cap(buf)) > g.claimed {
		size = int64(need)
	}
	if size+int64(cap(buf)) > g.claimed {
		return buf, junctor.Errorf(junctor.CodeTooLarge, "a message of %d bytes and more is larger than what fits into the %d that one caller may have in flight; %s sets the limit", len(buf), g.budget.options.PerParty, g.budget.options.PartySetting)
	}
	g.buffer = append(make([]byte, 0, size), buf...)
	return g.buffer, nil
}

// Settle ends a message: its memory counts as long as it is held, and no more than it
// is. It has to be called before the next message, and at the end.
func (g *ByteGrowth) Settle() {
	claim, last := g.claimed, g.buffer
	g.claimed, g.buffer = 0, nil
	n := int64(cap(last))
	switch {
	case g.budget == nil:
	case claim == 0:
		g.budget.Count(g.party, last)
	default:
		runtime.AddCleanup(&last[:1][0], g.budget.releaseBytes, byteCharge{g.party, n})
		g.budget.releaseBytes(byteCharge{g.party, claim - n})
	}
}
