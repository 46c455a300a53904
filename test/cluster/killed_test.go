package cluster

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"github.com/junctor-mcp/junctor/test/program"
)

// kill is one of a replica: it answers nothing more from at on, and is gone at gone.
type kill struct {
	replica  int
	at, gone time.Time
}

// TestKilled has 64 clients, of which some listen to streams and some send events,
// while a replica of three is killed and started again every five seconds. No
// session ends; nothing is answered wrongly; what is lost was under way in the
// replica that was killed, and its client is told that it may try again; what was
// answered is on record; and no event is lost, or delivered by two at once.
func TestKilled(t *testing.T) {
	lasts, calm := 22*time.Second, 6*time.Second
	if program.Long() {
		lasts, calm = 10*time.Minute, 10*time.Second
	}
	const every, senders, streams, clients = 5 * time.Second, 8, 12, 56
	c := program.StartCluster(t, program.ClusterOptions{})
	c.Watch(t, 100*time.Millisecond)
	agent := program.NewReceiver(t)
	agent.Hold = func(n int) time.Duration {
		if n%10 == 0 {
			return time.Second
		}
		return 20 * time.Millisecond
	}
	l := newLoad(t, c, clients, streams)
	c.Replica(0).Events(t, agent.URL)

	stop, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	events := program.NewSender(c.URL, pace)
	var work sync.WaitGroup
	work.Go(func() { l.run(stop) })
	work.Go(func() { events.Run(stop, senders) })
	var kills []kill
	for begun := time.Now(); time.Since(begun) < lasts-calm && !t.Failed(); {
		next := time.Now().Add(every)
		pauseFor(stop, time.Duration(rand.Int64N(int64(every/5)))) // not in step with anything
		k := kill{replica: rand.IntN(len(c.Replicas())), at: time.Now()}
		c.Replica(k.replica).Kill()
		k.gone = time.Now()
		kills = append(kills, k)
		c.Restart(k.replica)
		pauseFor(stop, time.Until(next))
	}
	work.Wait()

	l.checkResults()
	how := map[string]int{}
	for _, one := range l.lost {
		how[one.how]++
		if !isExplained(one, kills) {
			t.Errorf("a call was lost (%s) at replica %d, which was not killed between %v and %v", one.how, one.replica, one.begun, one.end)
		}
	}
	l.goOn()
	taken := events.Taken()
	agent.Check(t, taken)
	checkIndependent(t, agent.Told(), kills)
	l.recorded()
	if len(kills) < 3 || len(l.answered) < 20*len(kills) || len(taken) < 10*len(kills) || len(l.by) < 3 {
		t.Errorf("%d kills, %d answers by %v, %d events: that was no load", len(kills), len(l.answered), l.by, len(taken))
	}
	t.Logf("figure: three replicas, %d clients, %v, %d kills: %d calls answered, each with its records and the right response; %d lost, all in progress at the killed replica (%v), all repeated or resumed; %d sessions continued",
		clients+senders, lasts, len(kills), len(l.answered), len(l.lost), how, clients/2)
	t.Logf("figure: streams of killed replicas, resumed at others: %d got the error unavailable, %d got the response, %d got 400 and have to send the request again", l.over, l.rest, l.again)
}

// isExplained says whether a call was under way in a replica while that was killed.
func isExplained(one loss, kills []kill) bool {
	for _, k := range kills {
		if k.replica == one.replica && one.begun.Before(k.gone) && one.end.After(k.at) {
			return true
		}
	}
	return false
}

// goOn has every client, with the session it began with, call at each replica.
func (l *load) goOn() {
	l.t.Helper()
	for _, one := range l.clients {
		if one.modern {
			continue
		}
		for n, in := range l.c.Replicas() {
			want := fmt.Sprintf("%s is still here at %d", one.name, n)
			a, err := in.Request(l.t.Context(), http.MethodPost, "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":%q}}}`, want),
				"Authorization: Bearer "+one.key, "Mcp-Session-Id: "+one.session, "Mcp-Protocol-Version: "+legacyVersion)
			if err != nil || a.Status != http.StatusOK || !strings.Contains(a.Body, want) {
				l.t.Errorf("%s: %d %s %v", want, a.Status, a.Body, err)
			}
		}
	}
}

// checkIndependent holds that an agent was told of one event at a time: of the next, or of
// the same again, only once the one before had ended, or the replica that told it may have
// been killed.
func checkIndependent(t *testing.T, all []program.Told, kills []kill) {
	t.Helper()
	last := map[string]program.Told{}
	for _, one := range all {
		before, ok := last[one.Agent]
		last[one.Agent] = one
		if !ok || !before.End.IsZero() && !one.Begun.Before(before.End) {
			continue
		}
		killed := false
		for _, k := range kills {
			killed = killed || k.gone.After(before.Begun) && k.at.Before(one.Begun)
		}
		if !killed {
			t.Errorf("agent %s was told of %d (%s) at %v, while it was being told of %d (%s) since %v", one.Agent, one.N, one.ID, one.Begun, before.N, before.ID, before.Begun)
		}
	}
}

// recorded holds that every call that was answered has its records: in the journal
// of a replica, which verifies, and in the copy of all journals, as soon as that
// has caught up.
func (l *load) recorded() {
	l.t.Helper()
	var dirs []string
	for _, in := range l.c.Replicas() {
		dirs = append(dirs, in.DataDir)
	}
	journals := program.NewJournal(l.t, dirs...)
	journals.Update()
	if starts, ends := journals.Missing(l.answered); starts+ends > 0 {
		l.t.Errorf("of %d answered calls %d have no record of their start, %d none of their end", len(l.answered), starts, ends)
	}
	for n, in := range l.c.Replicas() {
		if stdout, stderr, code := in.VerifyJournal(l.t); code != 0 {
			l.t.Errorf("replica %d: audit verify: exit code %d\n%s%s", n, code, stdout, stderr)
		}
	}
	db, err := sql.Open("pgx", l.c.DB)
	if err != nil {
		l.t.Fatal(err)
	}
	defer db.Close()
	copied, seen := program.NewJournal(l.t), map[string]int64{}
	l.until("the copy of the journals has all calls", func() bool {
		for _, replica := range copiedReplicas(l.t, db) {
			copyOf(l.t, db, replica, seen, copied)
		}
		starts, ends := copied.Missing(l.answered)
		return starts+ends == 0
	})
}

func copiedReplicas(t *testing.T, db *sql.DB) (replicas []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT DISTINCT replica FROM audit_pages`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var replica string
		if err := rows.Scan(&replica); err != nil {
			t.Fatal(err)
		}
		replicas = append(replicas, replica)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return replicas
}

// copyOf reads what is new in the copy of one journal.
func copyOf(t *testing.T, db *sql.DB, replica string, seen map[string]int64, into *program.Journal) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT last, records FROM audit_pages WHERE replica = $1 AND last > $2 ORDER BY last`, replica, seen[replica])
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var last int64
		var records []byte
		if err := rows.Scan(&last, &records); err != nil {
			t.Fatal(err)
		}
		seen[replica] = last
		into.Take(records)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
