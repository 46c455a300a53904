// Package topology has what tests ask whose promises hold for one instance and for
// replicas alike: an instance in the process, or three of the program on a real
// PostgreSQL and Redis, behind a balancer that sends every request to another of
// them (test/program). It stands outside the data path, and only tests import it.
package topology

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/test/program"
)

// Site is what a test asks.
type Site struct {
	*testkit.Instance                     // by which all of it is asked; App is nil for replicas
	Each              []*testkit.Instance // the processes behind it

	cluster *program.Cluster // nil for one instance
}

// One is an instance.
func One(in *testkit.Instance) *Site {
	return &Site{Instance: in, Each: []*testkit.Instance{in}}
}

// Replicas starts three with settings. Changes by the API are answered once all of
// them follow.
func Replicas(t testing.TB, settings testkit.Settings) *Site {
	t.Helper()
	var args []string
	for name, value := range settings {
		args = append(args, "--"+name+"="+value)
	}
	s := &Site{cluster: program.StartCluster(t, program.ClusterOptions{Args: args, Settled: true})}
	for _, in := range s.cluster.Replicas() {
		s.Each = append(s.Each, testkit.At(in.URL, in.DataDir))
	}
	s.Instance = testkit.At(s.cluster.URL, s.Each[0].Dir) // pipes lead to one of them
	return s
}

// Both runs a test on an instance with settings, and on replicas with the same.
func Both(t *testing.T, settings testkit.Settings, test func(t *testing.T, s *Site)) {
	t.Helper()
	t.Run("one", func(t *testing.T) {
		t.Parallel()
		test(t, One(testkit.Start(t, settings)))
	})
	t.Run("replicas", func(t *testing.T) {
		t.Parallel()
		test(t, Replicas(t, settings))
	})
}

// Many says whether there are several processes.
func (s *Site) Many() bool { return len(s.Each) > 1 }

// Witness names the key of somebody who sees all servers of a tenant, where those
// who change them may not.
func (s *Site) Witness(key string) {
	if s.cluster != nil {
		s.cluster.Witness(key)
	}
}

// Calls are the newest calls on record, newest first: each process lists its own, and those
// that the others have written to the history.
func (s *Site) Calls(t testing.TB, query string, header ...string) []junctor.Call {
	t.Helper()
	var all []junctor.Call
	for _, in := range s.Each {
		r := in.Do(t, http.MethodGet, "/api/v1/calls?"+query, "", header...)
		var page struct{ Items []junctor.Call }
		if err := json.Unmarshal([]byte(r.Body), &page); err != nil || r.Status != http.StatusOK {
			t.Fatalf("the calls of %s: %d %s", in.URL, r.Status, r.Body)
		}
		for _, c := range page.Items {
			isSame := func(o junctor.Call) bool { return o.ID == c.ID }
			if !slices.ContainsFunc(all, isSame) {
				all = append(all, c)
			}
		}
	}
	if s.Many() {
		slices.SortStableFunc(all, func(a, b junctor.Call) int { return b.Start.Compare(a.Start) })
	}
	return all
}
