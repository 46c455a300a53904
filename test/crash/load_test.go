package crash

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// callers are clients of both eras that call the built-in echo as fast as they
// can, and note what was answered.
type callers struct {
	t   *testing.T
	all []*caller

	mu       sync.Mutex
	answered []string // digests of the arguments of calls that were answered
	wrong    []string // answers that no kill explains
}

type caller struct {
	*program.Caller
	name string
	n    int
}

func newCallers(t *testing.T, url, key string) *callers {
	t.Helper()
	c := &callers{t: t}
	for i := range 8 {
		era := program.Eras()[i%3]
		c.all = append(c.all, &caller{Caller: program.NewCaller(t, era, url, key), name: fmt.Sprintf("%s-%d", era, i)})
	}
	return c
}

// run calls until ctx ends.
func (c *callers) run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, one := range c.all {
		wg.Go(func() {
			defer one.CloseIdle()
			for ctx.Err() == nil {
				if c.echo(ctx, one) != nil { // killed
					<-ctx.Done()
				}
			}
		})
	}
	wg.Wait()
}

// each calls once with every caller: all must be answered.
func (c *callers) each() {
	c.t.Helper()
	for _, one := range c.all {
		if err := c.echo(c.t.Context(), one); err != nil {
			c.t.Errorf("%s: %v", one.name, err)
		}
		one.CloseIdle()
	}
}

// echo makes one call that nobody made before and notes its answer. An error
// means that there was none.
func (c *callers) echo(ctx context.Context, one *caller) error {
	one.n++
	text := fmt.Sprintf("%s says %d", one.name, one.n)
	arguments := fmt.Sprintf(`{"text":%q}`, text)
	answer, err := one.Call(ctx, "demo__echo", arguments)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !answer.OK || answer.Text != text {
		c.wrong = append(c.wrong, fmt.Sprintf("%q was answered %d %s", text, answer.Status, answer.Body))
		return nil
	}
	c.answered = append(c.answered, program.Digest(arguments))
	return nil
}
