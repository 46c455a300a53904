package program

import (
	"cmp"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
)

// Cluster is replicas of the program on one PostgreSQL and, unless it is left out,
// one Redis, with one sealing key, behind a Balancer.
type Cluster struct {
	*Balancer
	PG        *pgtest.Server
	DB        string // URL of the database
	Redis     *Process
	RedisAddr string

	t        testing.TB
	settles  *settling // nil where changes are not waited for
	mu       sync.Mutex
	replicas []*Instance
	specs    []Spec
}

// ClusterOptions change what a cluster is made of.
type ClusterOptions struct {
	Replicas int      // 3 unless it is said
	Args     []string // further arguments of each `junctor up`
	NoRedis  bool
	// Settled has a change by the API be answered only once all replicas follow it,
	// which takes less than a second: what is asked next has the answer that it has
	// of one instance.
	Settled bool
	// Spec changes how the replica of a number is started.
	Spec func(c *Cluster, n int, s *Spec)
}

// StartCluster starts everything, and waits until all replicas are ready.
func StartCluster(t testing.TB, o ClusterOptions) *Cluster {
	t.Helper()
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	c := &Cluster{t: t, PG: pg, DB: pg.Database(t), Balancer: NewBalancer(t)}
	args := o.Args
	if !o.NoRedis {
		c.RedisAddr = FreeAddr(t)
		c.Redis = RedisAt(t, c.RedisAddr)
		args = append([]string{"--redis", "redis://" + c.RedisAddr + "/0"}, args...)
	}
	if o.Settled {
		args = append([]string{"--log-level", "debug"}, args...) // which says what was read
	}
	seal := filepath.Join(t.TempDir(), "seal.key")
	for n := range cmp.Or(o.Replicas, 3) {
		s := Spec{Addr: FreeAddr(t), DataDir: t.TempDir(), Args: append([]string{
			"--db", c.DB, "--seal-key-file", seal, "--allowed-hosts", strings.TrimPrefix(c.URL, "http://"),
			"--egress-allow", "127.0.0.0/8", "--rate-limit", "0",
		}, args...)}
		if o.Spec != nil {
			o.Spec(c, n, &s)
		}
		in := Launch(t, s)
		in.WaitReady(t)
		c.replicas, c.specs = append(c.replicas, in), append(c.specs, s)
		c.Send(in.URL)
	}
	if o.Settled {
		c.settles = newSettling(c)
		c.After(c.settles.wait)
	}
	return c
}

// Replica is the replica of a number, as it runs now.
func (c *Cluster) Replica(n int) *Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replicas[n]
}

// Replicas are all replicas, as they run now.
func (c *Cluster) Replicas() []*Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*Instance(nil), c.replicas...)
}

// Specs says how each of them was started.
func (c *Cluster) Specs() []Spec {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Spec(nil), c.specs...)
}

// Restart starts a replica that has ended again, on what it left behind, and waits
// until it is ready.
func (c *Cluster) Restart(n int) {
	c.t.Helper()
	c.Replace(n, func(*Spec) {})
}

// Replace is Restart in another way than before.
func (c *Cluster) Replace(n int, change func(*Spec)) {
	c.t.Helper()
	c.mu.Lock()
	change(&c.specs[n])
	spec := c.specs[n]
	c.mu.Unlock()
	in := Launch(c.t, spec)
	c.mu.Lock()
	c.replicas[n] = in
	c.mu.Unlock()
	in.WaitReady(c.t)
}
