package admin

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// headerMatch is the request header that names the version that a change is for.
const headerMatch = "If-Match"

// Precondition is the part of a request that changes something by which a client says
// which version it has seen.
type Precondition struct {
	IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag of what is changed, as it was read. Where it was changed since, the answer is 412 and nothing is stored. The ETag of a thing is its updated_at in double quotes. Absent: the change is made to whatever is stored."`
}

// version is the version that the change is for; zero is any.
func (c *Precondition) version() (time.Time, error) {
	// A proxy that compresses answers makes their tags weak. Ours name a version and
	// not bytes, so that the mark says nothing.
	tag := strings.TrimPrefix(strings.TrimSpace(c.IfMatch), "W/")
	if tag == "" {
		return time.Time{}, nil
	}
	inner, ok := strings.CutPrefix(tag, `"`)
	if ok {
		inner, ok = strings.CutSuffix(inner, `"`)
	}
	at, err := time.Parse(time.RFC3339Nano, inner)
	if !ok || err != nil || at.IsZero() {
		return time.Time{}, junctor.Errorf(junctor.CodeInvalid, `the header %s has to be one ETag as this API answers it, such as "2026-01-02T03:04:05.123456Z" with its quotes; leave it out to change whatever is stored`, headerMatch)
	}
	return at, nil
}

// check refuses a change that is for another version than have.
func (c *Precondition) check(have time.Time) error {
	want, err := c.version()
	if err != nil {
		return err
	}
	return junctor.CheckVersion(want, have)
}

// versioned is an answer that carries the version of what it shows.
type versioned[T any] struct {
	ETag string `header:"ETag" doc:"The version of what is shown. Send it as If-Match with a change of it."`
	Body T
}

func withVersion[T any](v T, updated time.Time) *versioned[T] {
	return &versioned[T]{ETag: tagOf(updated), Body: v}
}

// tagOf is the ETag of a version; "" where there is none.
func tagOf(updated time.Time) string {
	if updated.IsZero() {
		return ""
	}
	return `"` + updated.UTC().Format(time.RFC3339Nano) + `"`
}

// stored is what there is now of a thing that a change was refused for.
type stored struct {
	called string // such as `the trigger "low"`
	body   any    // as a GET answers it
	at     time.Time
	by     string // as Principal.ID says; "" is unknown
}

// refuse makes of the error of a change a problem that says what there is now, where
// the change was for another version. read is what a GET would answer the caller.
func (a *api) refuse(ctx context.Context, err error, read func() (stored, error)) error {
	if junctor.CodeOf(err) != junctor.CodePrecondition {
		return err
	}
	now, rerr := read()
	if rerr != nil { // it is gone meanwhile, or not the caller's any more
		return rerr
	}
	p := problemOf(err)
	by := a.nameOf(ctx, now.by)
	p.Detail = now.called + " was changed"
	if by != "" {
		p.Detail += " by " + by
	}
	if !now.at.IsZero() {
		p.Detail += " at " + now.at.UTC().Format(time.RFC3339)
	}
	p.Detail += ", after the version that the change is for; nothing was stored"
	p.Hint = fmt.Sprintf("Look at what it is now, then send the change again with %s: %s, or without %s to make it anyway.", headerMatch, tagOf(now.at), headerMatch)
	p.Current, p.ChangedBy, p.etag = now.body, by, tagOf(now.at)
	return p
}

// nameOf is what people call somebody: users by name, others as Principal.ID says.
func (a *api) nameOf(ctx context.Context, id string) string {
	user, ok := strings.CutPrefix(id, junctor.IssuerUser+":")
	if !ok {
		return id
	}
	if u, err := a.Users.User(ctx, caller(ctx).Tenant, user); err == nil {
		return u.Name
	}
	return id
}

// unversioned refuses If-Match at a route that compares no versions: a client that
// sends it relies on it.
func unversioned(r *http.Request) error {
	if r == nil || r.Header.Get(headerMatch) == "" {
		return nil
	}
	return junctor.Errorf(junctor.CodeInvalid, "%s compares no versions: leave the header %s out", r.Method+" "+r.URL.Path, headerMatch)
}

// gone is the answer to a change of a version of what is not there any more.
func gone(what, name string) error {
	return junctor.Errorf(junctor.CodeNotFound, "%s %q is not there any more: leave the header %s out to make it anew", what, name, headerMatch)
}
