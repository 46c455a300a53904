package upstream

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// library is a server with pages, of either era.
type library struct {
	modern bool
	fresh  string // ttlMs and cacheScope of a modern answer

	mu      sync.Mutex
	text    string
	reads   int
	began   chan struct{} // a read has come
	answers chan struct{} // and is answered once there is something in it; nil is at once
}

func (l *library) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m wire.Message
	if r.Method != http.MethodPost || m.Parse(body) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if m.Kind != wire.Request {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := func(result string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(wire.AppendResult(nil, m.ID, []byte(result)))
	}
	switch {
	case m.Method == wire.MethodServerDiscover && l.modern:
		answer(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"resources":{}}}`)
	case m.Method == wire.MethodInitialize && !l.modern:
		answer(`{"protocolVersion":"2025-11-25","capabilities":{"resources":{}},"serverInfo":{"name":"l","version":"1"}}`)
	case m.Method == wire.MethodResourcesRead:
		l.mu.Lock()
		l.reads++
		text, began, answers := l.text, l.began, l.answers
		l.mu.Unlock()
		if answers != nil {
			began <- struct{}{}
			<-answers
		}
		more := ""
		if l.modern {
			more = `"resultType":"complete",` + l.fresh
		}
		answer(`{` + more + `"contents":[{"uri":"ui://x","text":"` + text + `"}]}`)
	default:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(wire.AppendError(nil, m.ID, &wire.Error{Code: wire.CodeMethodNotFound, Message: "what?"}))
	}
}

func (l *library) write(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = text
}

func (l *library) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reads
}

// hands is a clock that is moved by hand.
type hands struct {
	mu sync.Mutex
	at time.Time
}

func (h *hands) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

func (h *hands) Advance(by time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = h.at.Add(by)
}

func readBy(user, uri string) *catalog.Request {
	return &catalog.Request{
		Kind: junctor.KindResource, Name: uri, Params: []byte(`{"uri":"` + uri + `"}`), Caller: catalog.Caller{Protocol: wire.ModernVersion},
		Principal: &junctor.Principal{Tenant: "default", Issuer: junctor.IssuerUser, Subject: user, User: user},
	}
}

func TestPagesAreKept(t *testing.T) {
	t.Parallel()
	const long = `"ttlMs":60000,"cacheScope":"public",`
	own := func(o *Options) {
		o.UserClients = func(string) (*http.Client, *http.Client) { return o.Client, o.StreamClient }
	}
	perUser := func(o *Options) { o.Isolation = junctor.IsolationUser }
	for name, c := range map[string]struct {
		modern bool
		fresh  string
		edit   func(*Options)
		act    func(s *Server, clock *hands)
		again  *catalog.Request
		want   int
	}{
		"read once, of an older server":                       {want: 1},
		"read once, of a modern server":                       {modern: true, fresh: long, want: 1},
		"by another user of the same credentials":             {again: readBy("bob", "ui://x"), want: 1},
		"by another user, of a modern server":                 {modern: true, fresh: long, again: readBy("bob", "ui://x"), want: 1},
		"by another user, where it is private":                {modern: true, fresh: `"ttlMs":60000,"cacheScope":"private",`, again: readBy("bob", "ui://x"), want: 2},
		"by the same user, where it is private":               {modern: true, fresh: `"ttlMs":60000,"cacheScope":"private",`, want: 1},
		"by another user with credentials of their own":       {edit: own, again: readBy("bob", "ui://x"), want: 2},
		"by the same user with credentials of their own":      {edit: own, want: 1},
		"by another user, where users are kept apart":         {edit: perUser, again: readBy("bob", "ui://x"), want: 2},
		"by another user, modern, where users are kept apart": {modern: true, fresh: long, edit: perUser, again: readBy("bob", "ui://x"), want: 2},
		"a server that says that it is stale at once":         {modern: true, fresh: `"ttlMs":0,"cacheScope":"public",`, want: 2},
		"after its time":  {act: func(_ *Server, clock *hands) { clock.Advance(5 * time.Minute) }, want: 2},
		"before its time": {act: func(_ *Server, clock *hands) { clock.Advance(5*time.Minute - time.Second) }, want: 1},
		"after the time that a modern server says": {modern: true, fresh: long, act: func(_ *Server, clock *hands) { clock.Advance(time.Minute) }, want: 2},
		"when a list changed":                      {act: func(s *Server, _ *hands) { s.recordAnnouncement(wire.NotificationToolsListChanged) }, want: 2},
		"when the page was updated": {act: func(s *Server, _ *hands) {
			(&catalogListener{server: s}).handleNotification(wire.NotificationResourceUpdated, []byte(`{"uri":"ui://x"}`))
		}, want: 2},
		"when another page was updated": {act: func(s *Server, _ *hands) {
			(&catalogListener{server: s}).handleNotification(wire.NotificationResourceUpdated, []byte(`{"uri":"ui://y"}`))
		}, want: 1},
		"when the user's credentials changed": {edit: own, act: func(s *Server, _ *hands) { s.EndUser("ann") }, want: 2},
		"another page":                        {again: readBy("ann", "ui://y"), want: 2},
		"what is no page":                     {again: readBy("ann", "file:///x"), want: 2},
		"asked for as it is now":              {again: func() *catalog.Request { r := readBy("ann", "ui://x"); r.Fresh = true; return r }(), want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &library{modern: c.modern, fresh: c.fresh, text: "one"}
			clock := &hands{at: time.Now()}
			s := newServer(t, serve(t, l), func(o *Options) {
				o.Now = clock.Now
				if c.edit != nil {
					c.edit(o)
				}
			})
			first := do(t, s, readBy("ann", "ui://x"))
			if c.act != nil {
				c.act(s, clock)
			}
			l.write("two")
			again := c.again
			if again == nil {
				again = readBy("ann", "ui://x")
			}
			second := do(t, s, again)
			if got := l.count(); got != c.want {
				t.Errorf("it was fetched %d times, want %d", got, c.want)
			}
			if same := bytes.Equal(first.Body, second.Body); same != (c.want == 1) || strings.Contains(string(second.Body), "ttlMs") {
				t.Errorf("%s, then %s", first.Body, second.Body)
			}
		})
	}
}

// What is read while a change is announced may be the former page: it is answered
// and not kept.
func TestPageThatChangesWhileItIsRead(t *testing.T) {
	t.Parallel()
	l := &library{text: "one", began: make(chan struct{}), answers: make(chan struct{})}
	s := newServer(t, serve(t, l))
	ctx, done := ctxFor(t), make(chan error)
	go func() {
		_, err := s.Do(ctx, readBy("ann", "ui://x"), &notes{})
		done <- err
	}()
	<-l.began
	l.write("two")
	s.recordAnnouncement(wire.NotificationResourcesListChanged)
	close(l.answers)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	go func() { <-l.began }()
	if res := do(t, s, readBy("ann", "ui://x")); !strings.Contains(string(res.Body), "two") {
		t.Errorf("the former page was kept: %s", res.Body)
	}
}

// What is kept has a bound, and of pages that are the same one is.
func TestKeptPagesAreBounded(t *testing.T) {
	t.Parallel()
	var p pageCache
	now := time.Now()
	keep := func(uri, who string, size int, fill byte) {
		now = now.Add(time.Second)
		p.keepPage(readBy("ann", uri), &linkAccess{holder: who}, catalog.Result{Body: bytes.Repeat([]byte{fill}, size)}, p.generation, now, time.Hour, false)
	}
	const callers = maxKeptPages/(15<<20) + 2 // more than there would be room for
	for i := range callers {
		keep("ui://same", fmt.Sprint(i), 15<<20, 'a')
	}
	if len(p.kept) != callers || p.bytes != 15<<20 {
		t.Errorf("%d pages, %d bytes", len(p.kept), p.bytes)
	}
	keep("ui://huge", "", maxKeptPage+1, 'h')
	for i := range 6 {
		keep(fmt.Sprint("ui://", i), "", 15<<20, byte('b'+i))
	}
	sum, seen := 0, map[[32]byte]bool{}
	for _, one := range p.kept {
		if !seen[one.digest] {
			seen[one.digest], sum = true, sum+len(one.result.Body)
		}
	}
	if sum != p.bytes || sum > maxKeptPages || len(p.kept) != 4 {
		t.Errorf("%d pages, %d bytes, counted as %d", len(p.kept), sum, p.bytes)
	}
	p.dropAll()
	if len(p.kept) != 0 || p.bytes != 0 {
		t.Errorf("after all are dropped: %d, %d", len(p.kept), p.bytes)
	}
}
