package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/junctor-mcp/junctor/internal/admin"
)

const (
	// missedBeats is for how long a process may be silent: each says that it lives
	// every 2 s.
	missedBeats = 6 * time.Second
	// clocksApart is how far clocks may differ before keys and sessions end
	// noticeably earlier at one replica than at another.
	clocksApart = 2 * time.Second
	// manyRecords is how far the copy of a journal may be behind.
	manyRecords = 100_000
)

// judgeCluster makes every check of the processes that share a database.
func judgeCluster(c *admin.ClusterState) []finding {
	found := make([]finding, 0, len(c.Nodes)+6)
	for i := range c.Nodes {
		found = append(found, judgeNode(&c.Nodes[i]))
	}
	return append(found, judgeVersions(c), judgeClocks(c), judgeSealing(c), judgeRedis(c), judgeJournals(c), judgeLeases(c))
}

// judgeNode is about one process: the others must reach it.
func judgeNode(n *admin.NodeState) finding {
	const name = "node"
	text := fmt.Sprintf("%s (%s), version %s, at %s, seen %v ago", n.ID, n.Name, n.Version, orNone(n.URL), millis(n.Silent).Round(time.Second))
	switch {
	case n.Asked && n.Reachable:
		return finding{name, good, text + ": this one", ""}
	case n.Reachable:
		return finding{name, good, text + ": answers", ""}
	case millis(n.Silent) > missedBeats:
		return finding{name, warning, text + ": has ended without a word, or does not reach the database", "it is forgotten a minute after it was seen; start it again, or look at its log"}
	}
	return finding{name, bad, text + ": " + n.Problem, "replicas must reach each other at what --peer-url says, or where they listen, and share one sealing key"}
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

func orNone(text string) string {
	if text == "" {
		return "no address"
	}
	return text
}

func judgeVersions(c *admin.ClusterState) finding {
	const name = "versions"
	var versions []string
	for _, n := range c.Nodes {
		if !slices.Contains(versions, n.Version) {
			versions = append(versions, n.Version)
		}
	}
	text := fmt.Sprintf("the schema has version %d; replicas are of version %s", c.Schema, strings.Join(versions, " and "))
	if len(versions) > 1 {
		return finding{name, warning, text, "an upgrade is under way, or stood still: replace the others too"}
	}
	return finding{name, good, text, ""}
}

func judgeClocks(c *admin.ClusterState) finding {
	const name = "clocks"
	low, high := min(0, c.Database), max(0, c.Database) // the asked process's own is 0
	for _, n := range c.Nodes {
		if n.Reachable {
			low, high = min(low, n.Clock), max(high, n.Clock)
		}
	}
	apart := millis(high - low)
	text := fmt.Sprintf("those of replicas and database are %v apart", apart.Round(time.Millisecond))
	if apart > clocksApart {
		return finding{name, warning, text, "set them by NTP: leases do not depend on them, but what expires does so at another time on each"}
	}
	return finding{name, good, text, ""}
}

// judgeSealing wants each replica to open what another seals.
func judgeSealing(c *admin.ClusterState) finding {
	const name = "sealing"
	var current []string
	for _, n := range c.Nodes {
		if n.Reachable && !slices.Contains(current, n.SealKey) {
			current = append(current, n.SealKey)
		}
	}
	for _, n := range c.Nodes {
		for _, key := range current {
			if n.Reachable && !slices.Contains(n.SealKeys, key) {
				return finding{name, bad, fmt.Sprintf("%s (%s) does not have the key %s, with which another seals", n.ID, n.Name, key), "give all replicas one --seal-key-file, or the same JUNCTOR_SEAL_KEY"}
			}
		}
	}
	if len(current) > 1 {
		return finding{name, warning, "replicas seal with different keys, and all can open them: " + strings.Join(current, ", "), "finish the rotation: give all the same JUNCTOR_SEAL_KEY, with the new key first"}
	}
	return finding{name, good, "all seal with the key " + strings.Join(current, ", "), ""}
}

func judgeRedis(c *admin.ClusterState) finding {
	const name = "redis"
	with, without, reached := 0, 0, 0
	for _, n := range c.Nodes {
		switch {
		case !n.Reachable:
			continue
		case n.Redis == "":
			without++
		case n.Redis == "away":
			return finding{name, bad, fmt.Sprintf("it does not answer %s (%s), which counts limits for itself meanwhile", n.ID, n.Name), "start it, or see what is between: nothing else depends on it"}
		default:
			with++
		}
		reached++
	}
	switch {
	case with > 0 && without > 0:
		return finding{name, warning, fmt.Sprintf("%d of %d replicas share limits through it", with, reached), "give all the same --redis"}
	case with > 0:
		return finding{name, good, "answers all; limits are shared through it", ""}
	case reached > 1:
		return finding{name, good, "none is used: each replica counts limits for itself", ""}
	}
	return finding{name, good, "none is used", ""}
}

func judgeJournals(c *admin.ClusterState) finding {
	const name = "journals"
	var parts []string
	for _, j := range c.Journals {
		switch {
		case j.Writing && !j.OK:
			return finding{name, bad, j.Node + " cannot record, and refuses calls: " + strings.Join(j.Problems, "; "), "see its disk"}
		case len(j.Problems) > 0:
			return finding{name, warning, j.Node + ": " + strings.Join(j.Problems, "; "), "see its log, and run junctor audit verify there"}
		case j.Lag > manyRecords:
			return finding{name, warning, fmt.Sprintf("the database lacks %d records of %s", j.Lag, j.Node), "they are copied when fewer calls come; see its log where the number grows"}
		case j.Writing:
			parts = append(parts, fmt.Sprintf("%s writes %d, %d not copied yet", j.Node, j.Records, j.Lag))
		default:
			parts = append(parts, fmt.Sprintf("%s does not run, %d copied", j.Node, j.Copied))
		}
	}
	return finding{name, good, strings.Join(parts, "; "), ""}
}

func judgeLeases(c *admin.ClusterState) finding {
	const name = "leases"
	var parts, free []string
	for _, l := range c.Leases {
		if l.Node == "" {
			free = append(free, l.Name)
			continue
		}
		parts = append(parts, l.Name+": "+l.Node)
	}
	if len(free) > 0 {
		return finding{name, warning, "nobody has " + strings.Join(free, ", "), "somebody takes it within seconds; where not, see whether replicas can write to the database"}
	}
	return finding{name, good, strings.Join(parts, "; "), ""}
}
