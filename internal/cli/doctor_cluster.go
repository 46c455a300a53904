package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/junctor-mcp/junctor/internal/admin"
)

const (
	// maxSilence is how long a replica may be silent. Each one reports every 2
	// s.
	maxSilence = 6 * time.Second
	// maxClockSkew is how far clocks may differ. Above it, keys and sessions
	// expire noticeably earlier on one replica than on another.
	maxClockSkew = 2 * time.Second
	// maxJournalLag is how many records the copy of a journal may be behind.
	maxJournalLag = 100_000
)

// checkCluster makes every check of the replicas that share a database.
func checkCluster(c *admin.ClusterState) []finding {
	found := make([]finding, 0, len(c.Replicas)+6)
	for i := range c.Replicas {
		found = append(found, checkReplica(&c.Replicas[i]))
	}
	return append(found, checkVersions(c), checkClocks(c), checkSealing(c), checkRedis(c), checkJournals(c), checkLeases(c))
}

// checkReplica checks that the other replicas reach one. A silent replica is only
// a warning, since it may just have been stopped.
func checkReplica(n *admin.ReplicaState) finding {
	const name = "replica"
	text := fmt.Sprintf("%s (%s), version %s, at %s, seen %v ago", n.ID, n.Name, n.Version, addressOrNone(n.URL), toDuration(n.Silent).Round(time.Second))
	switch {
	case n.Self && n.Reachable:
		return finding{name, stateOK, text + ": this replica", ""}
	case n.Reachable:
		return finding{name, stateOK, text + ": answers", ""}
	// Checked before the failure below: a replica that has ended cannot be
	// reached either.
	case toDuration(n.Silent) > maxSilence:
		return finding{name, stateWarn, text + ": was killed, or does not reach the database", "start it again, or read its log; it is removed from this list a minute after it was last seen"}
	}
	return finding{name, stateFail, text + ": " + n.Problem, "replicas must reach each other at --replica-url (by default the address of --listen), and share one sealing key"}
}

// toDuration converts milliseconds, which the API uses.
func toDuration(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// addressOrNone returns an address for people.
func addressOrNone(text string) string {
	if text == "" {
		return "no address"
	}
	return text
}

// checkVersions warns if replicas have different versions.
func checkVersions(c *admin.ClusterState) finding {
	const name = "versions"
	var versions []string
	for _, n := range c.Replicas {
		if !slices.Contains(versions, n.Version) {
			versions = append(versions, n.Version)
		}
	}
	text := fmt.Sprintf("the schema has version %d, the replicas have version %s", c.Schema, strings.Join(versions, " and "))
	if len(versions) > 1 {
		return finding{name, stateWarn, text, "finish the upgrade: replace the other replicas too"}
	}
	return finding{name, stateOK, text, ""}
}

// checkClocks warns if the clocks of the replicas and the database differ too
// much. All differences are relative to the replica that was asked.
func checkClocks(c *admin.ClusterState) finding {
	const name = "clocks"
	low, high := min(0, c.Database), max(0, c.Database) // the difference of the asked replica to itself is 0
	for _, n := range c.Replicas {
		if n.Reachable {
			low, high = min(low, n.Clock), max(high, n.Clock)
		}
	}
	apart := toDuration(high - low)
	text := fmt.Sprintf("the clocks of the replicas and the database are %v apart", apart.Round(time.Millisecond))
	if apart > maxClockSkew {
		return finding{name, stateWarn, text, "synchronize them with NTP: keys and sessions expire at different times on each replica; leases are not affected"}
	}
	return finding{name, stateOK, text, ""}
}

// checkSealing checks that each replica can open what any other one seals.
func checkSealing(c *admin.ClusterState) finding {
	const name = "sealing"
	var current []string
	for _, n := range c.Replicas {
		if n.Reachable && !slices.Contains(current, n.SealKey) {
			current = append(current, n.SealKey)
		}
	}
	for _, n := range c.Replicas {
		for _, key := range current {
			if n.Reachable && !slices.Contains(n.SealKeys, key) {
				return finding{name, stateFail, fmt.Sprintf("%s (%s) does not have the key %s, which another replica seals with", n.ID, n.Name, key), "set the same --seal-key-file or JUNCTOR_SEAL_KEY for all replicas"}
			}
		}
	}
	if len(current) > 1 {
		return finding{name, stateWarn, "replicas seal with different keys, and all can open them: " + strings.Join(current, ", "), "finish the rotation: set the same JUNCTOR_SEAL_KEY for all, with the new key first"}
	}
	return finding{name, stateOK, "all replicas seal with the key " + strings.Join(current, ", "), ""}
}

// checkRedis checks that all replicas reach one Redis, or that none uses it.
func checkRedis(c *admin.ClusterState) finding {
	const name = "redis"
	with, without, reached := 0, 0, 0
	for _, n := range c.Replicas {
		switch {
		case !n.Reachable:
			continue
		// Replicas without a Redis count limits for themselves.
		case n.Redis == "":
			without++
		case n.Redis == "away":
			return finding{name, stateFail, fmt.Sprintf("the Redis does not answer %s (%s), which counts limits alone meanwhile", n.ID, n.Name), "start the Redis, or check the network between them; nothing else depends on it"}
		default:
			with++
		}
		reached++
	}
	switch {
	case with > 0 && without > 0:
		return finding{name, stateWarn, fmt.Sprintf("only %d of %d replicas share limits through the Redis", with, reached), "set the same --redis for all"}
	case with > 0:
		return finding{name, stateOK, "the Redis answers all replicas, which share limits through it", ""}
	case reached > 1:
		return finding{name, stateOK, "no Redis is used: each replica counts limits alone", ""}
	}
	return finding{name, stateOK, "no Redis is used", ""}
}

// checkJournals checks that each replica writes its journal, and that the
// copies in the database are not far behind.
func checkJournals(c *admin.ClusterState) finding {
	const name = "journals"
	var parts []string
	for _, j := range c.Journals {
		switch {
		// A replica that cannot record refuses calls, so this is worse than any
		// lag.
		case j.Writing && !j.OK:
			return finding{name, stateFail, j.Replica + " cannot write its journal, and refuses calls: " + strings.Join(j.Problems, "; "), "check the disk of this replica"}
		case len(j.Problems) > 0:
			return finding{name, stateWarn, j.Replica + ": " + strings.Join(j.Problems, "; "), "read its log, and run junctor audit verify on its machine"}
		case j.Lag > maxJournalLag:
			return finding{name, stateWarn, fmt.Sprintf("the database lacks %d records of %s", j.Lag, j.Replica), "they are copied when there are fewer calls; if the number grows, read the log of this replica"}
		case j.Writing:
			parts = append(parts, fmt.Sprintf("%s has %d records, of which %d are not copied yet", j.Replica, j.Records, j.Lag))
		default:
			parts = append(parts, fmt.Sprintf("%s does not run; %d of its records are copied", j.Replica, j.Copied))
		}
	}
	return finding{name, stateOK, strings.Join(parts, "; "), ""}
}

// checkLeases warns about a leader lease that nobody holds.
func checkLeases(c *admin.ClusterState) finding {
	const name = "leases"
	var parts, free []string
	for _, l := range c.Leases {
		if l.Replica == "" {
			// A lease is free for seconds only, until another replica takes it.
			free = append(free, l.Name)
			continue
		}
		parts = append(parts, l.Name+": "+l.Replica)
	}
	if len(free) > 0 {
		return finding{name, stateWarn, "no replica holds the lease " + strings.Join(free, ", "), "a replica takes it within seconds; if none does, check whether the replicas can write to the database"}
	}
	return finding{name, stateOK, strings.Join(parts, "; "), ""}
}
