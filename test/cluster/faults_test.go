package cluster

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/test/program"
)

// What the replicas of TestFaults stand on: each has a place of its own.
const (
	plain  = iota
	onDisk // its disk is small
	onWire // its cables to the database and to the Redis can be cut
)

// window is a time in which something is away, and which calls may be lost of it.
type window struct {
	what     string
	from, to time.Time
	may      func(loss) bool
}

// site is a cluster under load whose parts can be taken away.
type site struct {
	*load
	db, redis *cable
	disk      string // the data directory on the small disk; "" where there is none
	windows   []window
}

// TestFaults takes away what replicas stand on, one after the other, under load.
// What may be lost is what docs/operate/deploy.md says, each time with an error that says
// that it may be tried again; and all is well again by itself.
func TestFaults(t *testing.T) {
	s := startSite(t)
	agent := program.NewReceiver(t)
	agent.Hold = func(int) time.Duration { return 20 * time.Millisecond }
	s.c.Replica(plain).Events(t, agent.URL)
	stop, cancel := context.WithCancel(t.Context())
	defer cancel()
	events := program.NewSender(s.c.URL, pace)
	var work sync.WaitGroup
	work.Go(func() { s.run(stop) })
	work.Go(func() { events.Run(stop, 4) })

	rounds, hold := 1, 3*time.Second
	if program.Long() {
		rounds, hold = 5, 20*time.Second
	}
	for range rounds {
		s.redisKilled(hold)
		s.postgresRestarted(hold)
		s.cutOff(hold)
		s.diskFull(hold)
	}
	cancel()
	work.Wait()

	s.checkResults()
	how := map[string]int{}
	for _, one := range s.lost {
		what := ""
		for _, w := range s.windows {
			if one.begun.Before(w.to) && one.end.After(w.from) && w.may(one) {
				what = w.what
			}
		}
		if what == "" {
			t.Errorf("a call was lost (%s) at replica %d between %v and %v, which nothing explains", one.how, one.replica, one.begun, one.end)
		}
		how[what+": "+one.how]++
	}
	s.goOn()
	taken := events.Taken()
	agent.Check(t, taken)
	checkIndependent(t, agent.Told(), nil)
	s.recorded()
	if len(s.answered) < 100 || len(taken) < 20 {
		t.Errorf("%d answers, %d events: that was no load", len(s.answered), len(taken))
	}
	disk := "a full disk"
	if s.disk == "" {
		disk = "files that could not be written (a full disk needs root)"
	}
	t.Logf("figure: Redis killed, PostgreSQL restarted, a replica cut off from both, %s, %d times each under load: %d calls answered, %d lost (%v), all recovered by themselves",
		disk, rounds, len(s.answered), len(s.lost), how)
}

func startSite(t *testing.T) *site {
	t.Helper()
	disk, err := program.SmallDisk(t, "32m")
	if err != nil {
		t.Logf("no disk is filled, and one replica's files are not written instead: %v", err)
	}
	s := &site{disk: disk}
	c := program.StartCluster(t, program.ClusterOptions{Spec: func(c *program.Cluster, n int, spec *program.Spec) {
		switch n {
		case onDisk:
			if s.disk != "" {
				spec.DataDir = s.disk
			}
		case onWire:
			db, err := url.Parse(c.DB)
			if err != nil {
				t.Fatal(err)
			}
			s.db, s.redis = newCable(t, "127.0.0.1", db.Host), newCable(t, "127.0.0.1", c.RedisAddr)
			db.Host = s.db.Addr
			spec.Args = append(spec.Args, "--db", db.String(), "--redis", "redis://"+s.redis.Addr+"/0")
		}
	}})
	c.Watch(t, 100*time.Millisecond)
	s.load = newLoad(t, c, 16, 4)
	return s
}

// expectLosses notes what may be lost from now on, until the function that it gives is
// called.
func (s *site) expectLosses(what string, may func(loss) bool) (over func()) {
	w := window{what: what, from: time.Now(), may: may}
	return func() {
		w.to = time.Now()
		s.windows = append(s.windows, w)
	}
}

// ready says what a replica says of itself.
func (s *site) ready(n int) (bool, string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	a, err := s.c.Replica(n).Request(ctx, http.MethodGet, "/readyz", "")
	if err != nil {
		s.t.Fatal(err)
	}
	return a.Status == http.StatusOK, a.Body
}

func (s *site) untilReady(n int, want bool, says string) {
	s.t.Helper()
	s.until(fmt.Sprintf("replica %d: ready is %v", n, want), func() bool {
		is, body := s.ready(n)
		return is == want && strings.Contains(body, says)
	})
}

// shared is whether a replica counts limits together with the others.
func (s *site) shared(n int) string {
	s.t.Helper()
	a, err := s.c.Replica(n).Request(s.t.Context(), http.MethodGet, "/metrics", "")
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(a.Body) {
		if value, ok := strings.CutPrefix(line, "junctor_limits_shared "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// waitServed waits until a replica has answered some calls more.
func (s *site) waitServed(n int) {
	s.t.Helper()
	count := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.by[n]
	}
	from := count()
	s.until(fmt.Sprintf("replica %d answers", n), func() bool { return count() >= from+5 })
}

// redisKilled: nobody notices, but that each replica counts limits for itself.
func (s *site) redisKilled(hold time.Duration) {
	s.t.Helper()
	s.c.Redis.Kill()
	for n := range s.c.Replicas() {
		s.until(fmt.Sprintf("replica %d counts for itself", n), func() bool { return s.shared(n) == "0" })
		s.untilReady(n, true, "")
	}
	pauseFor(s.t.Context(), hold)
	s.c.Redis = program.RedisAt(s.t, s.c.RedisAddr)
	for n := range s.c.Replicas() {
		s.until(fmt.Sprintf("replica %d counts with the others", n), func() bool { return s.shared(n) == "1" })
	}
}

// postgresRestarted: nobody is ready, so a balancer sends nobody; what reaches a
// replica all the same is answered where nothing has to be asked, and refused else.
func (s *site) postgresRestarted(hold time.Duration) {
	s.t.Helper()
	over := s.expectLosses("PostgreSQL restarted", func(l loss) bool { return l.how == nobody || l.how == unavailable })
	fresh := &client{l: s.load, name: "fresh", key: s.clients[0].key}
	if err := fresh.open(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.c.PG.Halt()
	for n, in := range s.c.Replicas() {
		s.untilReady(n, false, "database")
		// A session that is new at most of them: whether it was ended nobody can say.
		a, err := in.Request(s.t.Context(), http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
			"Authorization: Bearer "+fresh.key, "Mcp-Session-Id: "+fresh.session, "Mcp-Protocol-Version: "+legacyVersion)
		if err != nil || a.Status != http.StatusOK && (a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, `"unavailable"`)) {
			s.t.Errorf("replica %d, of a session that it does not know yet, while the database is away: %d %s %v", n, a.Status, a.Body, err)
		}
	}
	pauseFor(s.t.Context(), hold)
	if err := s.c.PG.Resume(); err != nil {
		s.t.Fatal(err)
	}
	for n := range s.c.Replicas() {
		s.untilReady(n, true, "")
		s.waitServed(n)
	}
	over()
}

// cutOff: the replica says that it is not ready, and others do its work. What was
// changed meanwhile holds at it once it is back.
func (s *site) cutOff(hold time.Duration) {
	s.t.Helper()
	var spare struct{ ID, Key string }
	s.api("/keys", `{"name":"spare","scopes":["tools:read"]}`, &spare)
	known := func(n int) bool {
		ctx, cancel := context.WithTimeout(s.t.Context(), patience)
		defer cancel()
		a, err := s.c.Replica(n).Request(ctx, http.MethodGet, "/mcp/tools", "", "Authorization: Bearer "+spare.Key)
		return err == nil && a.Status == http.StatusOK
	}
	s.until("the key is known", func() bool { return known(onWire) })

	over := s.expectLosses("cut off", func(l loss) bool { return l.replica == onWire && l.how == unavailable })
	s.db.Cut()
	s.redis.Cut()
	s.untilReady(onWire, false, "database")
	s.until("others do its work", func() bool { return !s.tryCalls(onWire) })
	if a, err := s.c.Replica(plain).Request(s.t.Context(), http.MethodDelete, "/api/v1/keys/"+spare.ID, ""); err != nil || a.Status >= http.StatusMultipleChoices {
		s.t.Errorf("a key is revoked: %d %s %v", a.Status, a.Body, err)
	}
	s.waitServed(plain)
	s.waitServed(onDisk)
	pauseFor(s.t.Context(), hold)
	s.db.Mend()
	s.redis.Mend()
	s.untilReady(onWire, true, "")
	s.waitServed(onWire)
	s.until("what was revoked meanwhile is refused", func() bool { return !known(onWire) })
	s.until("limits are counted together", func() bool { return s.shared(onWire) == "1" })
	over()
}

// tryCalls says whether a replica holds a lease of work that one does for all.
func (s *site) tryCalls(n int) bool {
	s.t.Helper()
	db, err := sql.Open("pgx", s.c.DB)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	var held int
	err = db.QueryRowContext(s.t.Context(), `SELECT COUNT(*) FROM leases l JOIN replicas n ON n.id = l.replica WHERE n.url = $1`, s.c.Replica(n).URL).Scan(&held)
	if err != nil {
		s.t.Fatal(err)
	}
	return held > 0
}

// diskFull: the replica refuses what it cannot record, and says that it is not
// ready.
func (s *site) diskFull(hold time.Duration) {
	s.t.Helper()
	over := s.expectLosses("disk full", func(l loss) bool { return l.replica == onDisk && l.how == unavailable })
	room := s.noRoom()
	s.untilReady(onDisk, false, "journal")
	s.waitServed(plain)
	s.waitServed(onWire)
	pauseFor(s.t.Context(), hold)
	room()
	s.untilReady(onDisk, true, "")
	s.waitServed(onDisk)
	over()
}

// noRoom takes the room for what a replica writes, until the function that it gives
// is called.
func (s *site) noRoom() (room func()) {
	s.t.Helper()
	if s.disk == "" {
		return s.c.Replica(onDisk).NoRoom(s.t)
	}
	ballast := filepath.Join(s.disk, "ballast")
	program.Fill(s.t, ballast)
	return func() {
		if err := os.Remove(ballast); err != nil {
			s.t.Fatal(err)
		}
	}
}
