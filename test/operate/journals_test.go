package operate

import (
	"fmt"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// verified is what `audit verify --all` says.
type verified struct {
	OK       bool
	Journals []struct {
		Copy    bool
		Replica string
		OK      bool
		Records uint64
		Bad     *struct {
			Seq    uint64
			Reason string
		}
	}
}

func (p *pair) verify(n int) *verified {
	p.Helper()
	v := new(verified)
	if code := p.command(n, v, "audit", "verify", "--all", "--db", p.url); (code == 0) != v.OK {
		p.Fatalf("exit code %d, and %+v", code, v)
	}
	return v
}

// call has a replica make a call.
func (p *pair) call(n int, text string) {
	p.Helper()
	c := program.NewCaller(p.T, program.Plain, p.replicas[n].URL, program.AdminKey)
	defer c.CloseIdle()
	a, err := c.Call(p.Context(), "demo__echo", fmt.Sprintf(`{"text":%q}`, text))
	if err != nil || !a.OK {
		p.Fatalf("%s: %v %d %s", text, err, a.Status, a.Body)
	}
}

// newest is the hash of the last record in a replica's journal, which nobody needs to
// run for: the end of a call.
func (p *pair) newest(n int) string {
	p.Helper()
	var list struct {
		Items []struct {
			Hash   string
			Record struct{ Phase, Name string }
		}
	}
	p.command(n, &list, "audit", "ls", "--limit", "1")
	if len(list.Items) != 1 || list.Items[0].Hash == "" || list.Items[0].Record.Phase != "end" || list.Items[0].Record.Name != "echo" {
		p.Fatalf("the newest record is of no call: %+v", list)
	}
	return list.Items[0].Hash
}

// copied says whether the database has a record, by its hash.
func (p *pair) copied(hash string) bool {
	p.Helper()
	var n int
	if err := p.db.QueryRowContext(p.Context(), `SELECT count(*) FROM audit_pages WHERE position($1 in records) > 0`, hash).Scan(&n); err != nil {
		p.Fatal(err)
	}
	return n > 0
}

// killedBehind has a replica answer a call whose records it cannot copy, and die.
func (p *pair) killedBehind(n int, text string) string {
	p.Helper()
	tx, err := p.db.BeginTx(p.Context(), nil)
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(p.Context(), `LOCK TABLE audit_pages IN EXCLUSIVE MODE`); err != nil {
		p.Fatal(err)
	}
	p.call(n, text)
	p.replicas[n].Kill()
	return p.newest(n)
}

// TestJournalsVerifyTogether kills one of two replicas before what it answered is
// copied. Its records are in the database once its disk is back: by a command, and by
// starting it again. A copy that has lost records is found from the other replica.
func TestJournalsVerifyTogether(t *testing.T) {
	t.Parallel()
	p := startPair(t)
	for n := range 2 {
		p.call(n, fmt.Sprintf("both are well, says %d", n))
		last := p.newest(n)
		p.until("records are copied", func() bool { return p.copied(last) })
	}
	all := p.verify(0)
	if !all.OK || len(all.Journals) != 3 || all.Journals[0].Copy || all.Journals[0].Replica != p.name(0) {
		t.Fatalf("%+v", all)
	}
	named := map[string]uint64{}
	for _, j := range all.Journals[1:] {
		if j.Copy {
			named[j.Replica] = j.Records
		}
	}
	if len(named) != 2 || named[p.name(0)] == 0 || named[p.name(1)] == 0 {
		t.Fatalf("not every replica is named: %+v", all)
	}

	// Its disk is at another machine, which runs nothing on it.
	last := p.killedBehind(1, "rescued")
	if p.copied(last) {
		t.Fatal("records of a replica that was killed before it could copy them are in the database")
	}
	if v := p.verify(0); !v.OK {
		t.Errorf("what was never copied is no gap: %+v", v)
	}
	var shipped struct {
		Replica     string
		Had, Copied uint64
	}
	if code := p.command(1, &shipped, "audit", "ship", "--db", p.url); code != 0 || shipped.Replica != p.name(1) || shipped.Copied <= shipped.Had {
		t.Fatalf("audit ship: exit %d, %+v", code, shipped)
	}
	if !p.copied(last) {
		t.Error("the records of its last call were not copied")
	}

	// It is started again.
	p.start(1)
	last = p.killedBehind(1, "restarted")
	if p.copied(last) {
		t.Fatal("records of a replica that was killed before it could copy them are in the database")
	}
	p.start(1)
	p.until("the records are copied after a start", func() bool { return p.copied(last) })
	if v := p.verify(0); !v.OK {
		t.Errorf("%+v", v)
	}

	// A copy that is gone, of a replica that is not here, is missed.
	p.replicas[1].Stop(t, patience)
	if v := p.verify(0); !v.OK {
		t.Errorf("%+v", v)
	}
	if _, err := p.db.ExecContext(t.Context(), `DELETE FROM audit_pages WHERE replica = $1`, p.name(1)); err != nil {
		t.Fatal(err)
	}
	v := p.verify(0)
	found := false
	for _, j := range v.Journals {
		if j.Replica == p.name(1) {
			found = !j.OK && j.Bad != nil
		} else if !j.OK {
			t.Errorf("the other one is blamed: %+v", j)
		}
	}
	if v.OK || !found {
		t.Errorf("a copy that is gone was not missed: %+v", v)
	}
}
