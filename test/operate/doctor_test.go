package operate

import (
	"strings"
	"testing"
)

// report is what doctor says, as far as it is looked at here.
type report struct {
	OK     bool
	Checks []struct{ Check, State, Detail string }

	Cluster struct {
		Shared   bool
		Schema   int64
		Replicas []struct {
			ID, Name, URL, Version, Redis string
			Self, Reachable               bool
			SealKey                       string `json:"seal_key"`
			Clock                         int64  `json:"clock_ms"`
		}
		Leases   []struct{ Name, Replica string }
		Journals []struct {
			Replica string
			Writing bool
			Records uint64
			Lag     uint64
		}
	}
}

// state is how the checks of a name came out, the worst first.
func (r *report) state(check string) string {
	worst := ""
	for _, c := range r.Checks {
		if c.Check == check && (worst == "" || c.State == "fail" || c.State == "warn" && worst == "ok") {
			worst = c.State
		}
	}
	return worst
}

func (p *pair) doctor(n int) (*report, int) {
	p.Helper()
	r := new(report)
	code := p.command(n, r, "doctor", "--listen", p.specs[n].Addr)
	if (code == 0) != r.OK {
		p.Fatalf("exit code %d, and ok is %t", code, r.OK)
	}
	return r, code
}

// TestDoctorSeesAll asks one of two replicas how both are: while all is well, while
// the Redis is away, and after the other was killed.
func TestDoctorSeesAll(t *testing.T) {
	t.Parallel()
	addr, shared := redis(t)
	p := startPair(t, "--redis", "redis://"+addr)
	var r *report
	p.until("all is well", func() bool { // leases are taken, and a machine that is busy answers in time
		var code int
		r, code = p.doctor(0)
		for _, check := range []string{"replica", "versions", "clocks", "sealing", "redis", "journals", "leases"} {
			if r.state(check) != "ok" {
				return false
			}
		}
		return code == 0 && len(r.Cluster.Leases) >= 3 && len(r.Cluster.Journals) == 2
	})
	c := &r.Cluster
	if !c.Shared || c.Schema < 27 || len(c.Replicas) != 2 {
		t.Fatalf("%+v", c)
	}
	ids := map[string]bool{}
	for i, n := range c.Replicas { // the oldest is first
		ids[n.ID] = true
		if n.ID == "" || n.Name != p.name(i) || n.URL != p.replicas[i].URL || n.Version == "" || n.Self != (i == 0) || !n.Reachable || n.Redis != "ok" {
			t.Errorf("replica %d: %+v", i, n)
		}
		if n.SealKey == "" || n.SealKey != c.Replicas[0].SealKey {
			t.Errorf("replica %d seals with %q", i, n.SealKey)
		}
	}
	for _, l := range c.Leases {
		if !ids[l.Replica] {
			t.Errorf("the lease %+v is nobody's", l)
		}
	}
	for _, j := range c.Journals {
		if !j.Writing || j.Replica != p.name(0) && j.Replica != p.name(1) {
			t.Errorf("the journal %+v", j)
		}
	}
	text, errs, code := p.replicas[1].Operate(t, "doctor", "--listen", p.specs[1].Addr)
	if !strings.Contains(text, c.Replicas[0].ID) || !strings.Contains(text, c.Replicas[1].ID+" ("+c.Replicas[1].Name+")") {
		t.Errorf("for people, at the other one: exit %d\n%s%s", code, text, errs)
	}

	shared.Kill()
	if r, code := p.doctor(0); code == 0 || r.state("redis") != "fail" {
		t.Errorf("the Redis is away: exit %d, %+v", code, r.Checks)
	}

	p.replicas[1].Kill()
	r, _ = p.doctor(0)
	seen := false
	for _, n := range r.Cluster.Replicas {
		if n.ID == c.Replicas[1].ID {
			seen = true
			if n.Reachable {
				t.Errorf("a replica that was killed answers: %+v", n)
			}
		}
	}
	if got := r.state("replica"); !seen || got == "ok" { // it fails, and is a warning once it was not seen for a while
		t.Errorf("a replica that was killed: %q in %+v", got, r.Checks)
	}
}
