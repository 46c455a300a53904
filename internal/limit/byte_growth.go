package limit

import (
	"context"
	"runtime"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
)

// maxFreeGrowth is the size up to which a message of unknown length grows without
// waiting. A caller that waits for room holds at most this much. If callers could wait
// while they hold more, together they could hold all the memory that each of them waits
// for.
const maxFreeGrowth = 256 << 10

// ByteGrowth allocates the memory of messages whose length is not known in advance, one
// message after the other. When a message exceeds maxFreeGrowth, the most that it can
// ever need is counted at once. Settle gives back the part that it did not need. A
// ByteGrowth is not safe for concurrent use.
type ByteGrowth struct {
	budget   *ByteBudget
	ctx      context.Context // bounds all waits
	party    Party
	maxBytes int64 // largest length of one message

	claimed int64  // bytes counted for the current message
	buffer  []byte // memory of the current message
}

// NewGrowth makes a ByteGrowth for messages of a party with at most most bytes each. ctx
// bounds all waits.
func (b *ByteBudget) NewGrowth(ctx context.Context, who Party, most int64) *ByteGrowth {
	return &ByteGrowth{budget: b, ctx: ctx, party: who, maxBytes: most}
}

// Grow returns buf with room for n more bytes, as slices.Grow does. buf must be the
// result of the previous Grow for this message, or memory that was not made here. Errors
// are those of ByteBudget.MakeBuffer; buf is then unchanged.
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
		// While the largest buffer is filled from the previous one, both exist.
		claim := min(g.maxBytes+g.maxBytes/2+maxFreeGrowth, g.budget.options.PerParty)
		if err := g.budget.acquireBytes(g.ctx, g.party, claim); err != nil {
			return buf, err
		}
		g.claimed = claim
	}
	size := max(int64(need), 2*int64(cap(buf)))
	if size > g.maxBytes/2 {
		size = max(int64(need), g.maxBytes) // the final size: the message cannot get longer
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

// FinishMessage ends the current message. From then on its buffer counts with its real size,
// until the garbage collector frees it. Call it after every message, also after an error.
func (g *ByteGrowth) FinishMessage() {
	claim, last := g.claimed, g.buffer
	g.claimed, g.buffer = 0, nil
	n := int64(cap(last))
	switch {
	case g.budget == nil:
	case claim == 0:
		g.budget.CountBuffer(g.party, last)
	default:
		runtime.AddCleanup(&last[:1][0], g.budget.releaseBytes, byteCharge{g.party, n})
		g.budget.releaseBytes(byteCharge{g.party, claim - n})
	}
}
