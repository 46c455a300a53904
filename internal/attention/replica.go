package attention

import (
	"context"
	"fmt"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/store"
)

// SettingsState is how the settings file is doing.
type SettingsState struct {
	Path     string   // "" if there is none
	OK       bool     // it is in effect
	Problems []string // why it is not
}

// Settings lists a settings file that was not applied.
func Settings(read func() SettingsState) Source {
	return Source{Name: "settings", Title: "the settings file", List: func(context.Context) (Report, error) {
		s := read()
		if s.OK || s.Path == "" {
			return Report{}, nil
		}
		return Report{Findings: []Finding{{Key: s.Path, AttentionItem: junctor.AttentionItem{
			Kind: junctor.AttentionSettings, Severity: junctor.SeverityWarning, Object: junctor.AttentionObject{Kind: "settings", ID: s.Path, Name: s.Path},
			Problem: "the settings file, or a part of it, is not in effect: " + strings.Join(s.Problems, "; "), Command: "junctor config check --config " + s.Path,
			Advice: "Correct the file: it is read again as soon as it changes.", Console: "/settings",
		}}}}, nil
	}}
}

// certificateWarning is how long before its end a certificate is an item.
const (
	certificateWarning = 14 * 24 * time.Hour
	certificateUrgent  = 3 * 24 * time.Hour
)

// Certificate lists a TLS certificate that expires soon, or whose files cannot be used. check
// reads the files if they changed, and returns when the certificate in use expires.
func Certificate(file string, check func() (expires time.Time, err error), now func() time.Time) Source {
	return Source{Name: "certificate", Title: "the TLS certificate", List: func(context.Context) (Report, error) {
		expires, err := check()
		item := junctor.AttentionItem{
			Kind: junctor.AttentionCertificate, Severity: junctor.SeverityWarning, Object: junctor.AttentionObject{Kind: "certificate", ID: file, Name: file},
			Command: "junctor doctor", Advice: "Renew the certificate, and replace its files: no restart is needed.", Console: "/settings",
		}
		left := expires.Sub(now())
		switch {
		case err != nil:
			item.Problem = "the files cannot be used, so the former certificate stays, which expires at " + expires.UTC().Format(time.RFC3339) + ": " + junctor.AsError(err).Message
		case left <= 0:
			item.Problem, item.Since = "the certificate expired at "+expires.UTC().Format(time.RFC3339)+": clients refuse the connection", expires
		case left < certificateWarning:
			item.Problem, item.Since = "the certificate expires at "+expires.UTC().Format(time.RFC3339), expires.Add(-certificateWarning)
		default:
			return Report{}, nil
		}
		if left < certificateUrgent {
			item.Severity = junctor.SeverityCritical
		}
		return Report{Findings: []Finding{{Key: file, AttentionItem: item}}}, nil
	}}
}

// Journal lists faults of the journal of this replica.
func Journal(read func() audit.State) Source {
	return Source{Name: "journal", Title: "the journal", List: func(context.Context) (Report, error) {
		s := read()
		item := junctor.AttentionItem{
			Kind: junctor.AttentionJournal, Object: junctor.AttentionObject{Kind: "journal", ID: s.Replica, Name: s.Replica}, Console: "/audit",
		}
		switch {
		case !s.OK:
			item.Severity, item.Command = junctor.SeverityCritical, "junctor doctor"
			item.Problem, item.Advice = "calls are refused, because they cannot be recorded: "+s.Error, "Usually the disk is full. Calls succeed again as soon as there is room."
		case len(s.Problems) > 0:
			item.Severity, item.Command = junctor.SeverityWarning, "junctor audit verify"
			item.Problem = "the journal is written, but has a fault: " + strings.Join(s.Problems, "; ")
		default:
			return Report{}, nil
		}
		return Report{Findings: []Finding{{Key: "journal", AttentionItem: item}}}, nil
	}}
}

// Redis lists the Redis that replicas share, if it does not answer.
func Redis(answers func(context.Context) bool) Source {
	return Source{Name: "redis", Title: "the shared Redis", List: func(ctx context.Context) (Report, error) {
		if answers(ctx) {
			return Report{}, nil
		}
		return Report{Findings: []Finding{{Key: "redis", AttentionItem: junctor.AttentionItem{
			Kind: junctor.AttentionRedis, Severity: junctor.SeverityWarning, Object: junctor.AttentionObject{Kind: "redis", ID: "redis", Name: "Redis"},
			Problem: "Redis does not answer, so each replica counts limits by itself, and streams end with their replica", Command: "junctor doctor", Console: "/settings",
		}}}}, nil
	}}
}

const (
	// replicaAway is how long a replica may be silent before it is an item. Replicas that end
	// orderly say so, and are none.
	replicaAway = 10 * time.Second
	// replicaForgotten is how long a replica that does not return remains an item.
	replicaForgotten = 24 * time.Hour
)

// Replicas lists replicas that were killed or cannot reach the database. A replica is away
// until one with the same data directory runs again.
func Replicas(st *store.Store, now func() time.Time) Source {
	return Source{Name: "replicas", Title: "the replicas", List: func(ctx context.Context) (Report, error) {
		all, err := st.Replicas(ctx)
		if err != nil {
			return Report{}, err
		}
		alive := map[string]bool{}
		for i := range all {
			if all[i].Silent < replicaAway {
				alive[all[i].Name] = true
			}
		}
		out := Report{Keeps: func(item *junctor.AttentionItem) bool { // its row is removed after a minute
			return !alive[item.Object.ID] && now().Sub(item.Since) < replicaForgotten
		}}
		for i := range all {
			r := &all[i]
			if alive[r.Name] {
				continue
			}
			out.Findings = append(out.Findings, Finding{Key: r.Name, AttentionItem: junctor.AttentionItem{
				Kind: junctor.AttentionReplica, Severity: junctor.SeverityCritical, Object: junctor.AttentionObject{Kind: "replica", ID: r.Name, Name: replicaName(r)},
				Problem: "the replica does not answer and has not stopped orderly", Command: "junctor doctor",
				Advice:  "Start it again with its data directory: the journal there may have records that the database lacks. If it does not return, the item disappears after a day.",
				Console: "/settings", Since: now().Add(-r.Silent).Truncate(time.Second),
			}})
		}
		return out, nil
	}}
}

// replicaName returns what people call a replica.
func replicaName(r *store.Replica) string {
	if r.URL != "" {
		return r.URL
	}
	return r.Name
}

const (
	diskCritical     = 256 << 20 // free bytes below which calls may soon be refused
	diskWarning      = 1 << 30
	diskSampling     = 10 * time.Minute
	diskKept         = 3 * 24 * time.Hour
	diskMinimum      = time.Hour // of samples, before a forecast is made
	forecastWarning  = 14 * 24 * time.Hour
	forecastCritical = 2 * 24 * time.Hour
	gib              = 1 << 30
)

// Disk lists the disk of this replica's data directory if it is full or will be soon. The
// forecast continues the line from the oldest sample of the last days to now. freeBytes is
// false on systems that do not tell.
func Disk(db store.Database, replica, dir string, freeBytes func(dir string) (uint64, bool), now func() time.Time) Source {
	d := &diskWatch{db: db, replica: replica, dir: dir, freeBytes: freeBytes, now: now}
	return Source{Name: "disk", Title: "the disk", List: d.list}
}

// diskWatch samples a disk.
type diskWatch struct {
	db           store.Database
	replica, dir string
	freeBytes    func(dir string) (uint64, bool)
	now          func() time.Time

	oldest    diskSample // as read or written last
	sampledAt time.Time
}

// diskSample is how much was free at a time.
type diskSample struct {
	at   time.Time
	free int64
}

// list is called by one goroutine at a time. If samples cannot be stored, what is free now is
// told nevertheless: a full disk is the reason.
func (d *diskWatch) list(ctx context.Context) (Report, error) {
	space, known := d.freeBytes(d.dir)
	if !known {
		return Report{}, nil
	}
	now, free := d.now(), int64(space) //nolint:gosec // no disk has 2^63 bytes
	if now.Sub(d.sampledAt) >= diskSampling || now.Before(d.sampledAt) {
		oldest, err := d.sample(ctx, diskSample{now, free})
		if err != nil && free >= diskWarning {
			return Report{}, err
		}
		if err == nil {
			d.oldest, d.sampledAt = oldest, now
		}
	}
	item := junctor.AttentionItem{
		Kind: junctor.AttentionDisk, Object: junctor.AttentionObject{Kind: "disk", ID: d.dir, Name: d.dir}, Command: "junctor doctor",
		Advice: "Make room, use a larger disk, or keep less: see --audit-days and --history-days.", Console: "/settings",
	}
	left, grows := forecast(d.oldest, diskSample{now, free})
	item.Problem = fmt.Sprintf("%.1f GiB are free", float64(free)/gib)
	if grows && left < forecastWarning {
		item.Problem += fmt.Sprintf("; as it grew since %s, the disk is full in %s", d.oldest.at.UTC().Format(time.RFC3339), describeDays(left))
	}
	switch {
	case free < diskCritical, grows && left < forecastCritical:
		item.Severity = junctor.SeverityCritical
	case free < diskWarning, grows && left < forecastWarning:
		item.Severity = junctor.SeverityWarning
	default:
		return Report{}, nil
	}
	return Report{Findings: []Finding{{Key: d.dir, AttentionItem: item}}}, nil
}

// forecast returns when the disk is full if it goes on as it did. It is false if the disk does
// not fill, or the samples are too close together to tell.
func forecast(from, to diskSample) (left time.Duration, ok bool) {
	took, used := to.at.Sub(from.at), from.free-to.free
	if from.at.IsZero() || took < diskMinimum || used <= 0 {
		return 0, false
	}
	days := float64(to.free) / float64(used) * took.Hours() / 24
	return time.Duration(min(days, 3650) * 24 * float64(time.Hour)), true
}

// describeDays returns a duration for people.
func describeDays(left time.Duration) string {
	if days := int(left / (24 * time.Hour)); days > 0 {
		return countOf(days, "day", "days")
	}
	return countOf(max(1, int(left/time.Hour)), "hour", "hours")
}

// sample stores a sample, removes old ones, and returns the oldest that is left.
func (d *diskWatch) sample(ctx context.Context, s diskSample) (diskSample, error) {
	bind := d.db.Dialect.Bind
	if _, err := d.db.Write.ExecContext(ctx, bind(`DELETE FROM disk_samples WHERE sampled_at < ?`), s.at.Add(-diskKept).UnixMicro()); err != nil {
		return s, d.db.Fail(ctx, err, "remove old samples of the disk")
	}
	if _, err := d.db.Write.ExecContext(ctx, bind(`INSERT INTO disk_samples (replica, sampled_at, free) VALUES (?, ?, ?) ON CONFLICT (replica, sampled_at) DO NOTHING`),
		d.replica, s.at.UnixMicro(), s.free); err != nil {
		return s, d.db.Fail(ctx, err, "store a sample of the disk")
	}
	var at, free int64
	if err := d.db.Read.QueryRowContext(ctx, bind(`SELECT sampled_at, free FROM disk_samples WHERE replica = ? ORDER BY sampled_at LIMIT 1`), d.replica).Scan(&at, &free); err != nil {
		return s, d.db.Fail(ctx, err, "read the samples of the disk")
	}
	return diskSample{time.UnixMicro(at), free}, nil
}
