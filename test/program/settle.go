package program

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // tells replicas something
)

// settleLimit is far above what it takes: it is here to end a broken test.
const settleLimit = 90 * time.Second

// settling waits after each change until all replicas of a cluster follow it. It
// asks the replicas for nothing that they would follow for: it tells them one more
// change, of a table that does not exist, and reads in their logs that they have
// come to it. They read changes in the order in which those were made.
type settling struct {
	c  *Cluster
	db *sql.DB

	mu        sync.Mutex // one at a time
	marks     int
	read      map[*Instance]int // how much of its log was read
	witnesses []string
}

func newSettling(c *Cluster) *settling {
	c.t.Helper()
	db, err := sql.Open("pgx", c.DB)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = db.Close() })
	return &settling{c: c, db: db, read: map[*Instance]int{}}
}

// Witness has the servers of a tenant be waited for as somebody sees them who sees
// all of them, beside the one who changed something.
func (c *Cluster) Witness(key string) {
	c.settles.mu.Lock()
	defer c.settles.mu.Unlock()
	c.settles.witnesses = append(c.settles.witnesses, "Bearer "+key)
}

// wait is called for each request, with the replica that answered it.
func (s *settling) wait(r *http.Request, at int) {
	path, api := strings.CutPrefix(r.URL.Path, "/api/v1")
	if !api || r.Method == http.MethodGet || strings.HasSuffix(path, "/call") {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), settleLimit)
	defer cancel()
	s.marks++
	mark := fmt.Sprintf("test-mark-%06d", s.marks)
	replicas := s.c.Replicas()
	for n, in := range replicas {
		if !s.comes(ctx, in, mark) {
			s.c.t.Errorf("%s %s: replica %d has not followed within %v", r.Method, path, n, settleLimit)
			return
		}
	}
	if !strings.HasPrefix(path, "/servers") {
		return
	}
	// Servers that are new are reached beside that.
	for _, who := range append(slices.Clone(s.witnesses), r.Header.Get("Authorization")) {
		for n, in := range replicas {
			if !holdsIn(ctx, func() bool { return toolsOf(ctx, in, who) == toolsOf(ctx, replicas[at], who) }) {
				s.c.t.Errorf("%s %s: replica %d has tools other than replica %d, also after %v", r.Method, path, n, at, settleLimit)
				return
			}
		}
	}
}

// comes waits until a replica has come to a mark. One that was just started may not
// listen yet: then it reads everything when it does, and has to be told again.
func (s *settling) comes(ctx context.Context, in *Instance, mark string) bool {
	for ctx.Err() == nil {
		if s.passed(in, mark) {
			return true
		}
		if _, err := s.db.ExecContext(ctx, `SELECT pg_notify('junctor_changes', $1)`, mark); err != nil {
			s.c.t.Errorf("mark a change: %v", err)
			return false
		}
		soon, cancel := context.WithTimeout(ctx, time.Second)
		done := holdsIn(soon, func() bool { return s.passed(in, mark) })
		cancel()
		if done {
			return true
		}
	}
	return false
}

// passed says whether a replica has come to a mark.
func (s *settling) passed(in *Instance, mark string) bool {
	at := strings.Index(in.log.from(s.read[in]), mark)
	if at < 0 {
		return false
	}
	s.read[in] += at + len(mark)
	return true
}

func holdsIn(ctx context.Context, holds func() bool) bool {
	for !holds() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(2 * time.Millisecond): // another process: nothing to wait on
		}
	}
	return true
}

// toolsOf is what somebody sees at a replica.
func toolsOf(ctx context.Context, in *Instance, who string) string {
	a, err := in.Request(ctx, http.MethodGet, "/api/v1/tools", "", "Authorization: "+who)
	if err != nil {
		return err.Error()
	}
	var page struct{ Items []struct{ Exposed string } }
	if err := json.Unmarshal([]byte(a.Body), &page); err != nil {
		return a.Body
	}
	return fmt.Sprint(a.Status, page.Items)
}
