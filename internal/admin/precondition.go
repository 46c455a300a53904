package admin

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// headerIfMatch is the request header with the version that a change is for.
const headerIfMatch = "If-Match"

// Precondition is embedded in requests that change a stored thing. With it a client names
// the version that it has read, so that it does not overwrite a change that it has not
// seen.
type Precondition struct {
	IfMatch string `header:"If-Match" maxLength:"200" doc:"ETag of the version that you read: its updated_at in double quotes. If it was changed since, the response is 412 and nothing is stored. If absent, the change applies to any stored version."`
}

// wantedVersion returns the version that the change is for; zero means any. registerRoute
// recognises requests with a precondition by this method.
func (c *Precondition) wantedVersion() (time.Time, error) {
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
		return time.Time{}, junctor.Errorf(junctor.CodeInvalid, `the header %s must be one ETag of this API with its quotes, such as "2026-01-02T03:04:05.123456Z"; omit it to change any stored version`, headerIfMatch)
	}
	return at, nil
}

// checkVersion refuses a change that is for another version than have.
func (c *Precondition) checkVersion(have time.Time) error {
	want, err := c.wantedVersion()
	if err != nil {
		return err
	}
	return junctor.CheckVersion(want, have)
}

// versionedResponse is an answer with the version of the thing that it shows.
type versionedResponse[T any] struct {
	ETag string `header:"ETag" doc:"Version of the returned object. Send it as If-Match when you change the object."`
	Body T
}

// withVersion returns an answer whose ETag is the time of the last change.
func withVersion[T any](v T, updated time.Time) *versionedResponse[T] {
	return &versionedResponse[T]{ETag: etagOf(updated), Body: v}
}

// etagOf returns the ETag of a version; "" if there is none.
func etagOf(updated time.Time) string {
	if updated.IsZero() {
		return ""
	}
	return `"` + updated.UTC().Format(time.RFC3339Nano) + `"`
}

// storedVersion is the present state of a thing for which a change was refused.
type storedVersion struct {
	label     string // such as `the trigger "low"`
	body      any    // as a GET answers it
	updatedAt time.Time
	updatedBy string // as Principal.ID says; "" is unknown
}

// explainConflict turns the error of a change that was for another version into a problem
// with the present state of the thing. It passes other errors on. read returns what a GET
// would answer to the caller, so that the problem shows nothing more.
func (a *api) explainConflict(ctx context.Context, err error, read func() (storedVersion, error)) error {
	if junctor.CodeOf(err) != junctor.CodePrecondition {
		return err
	}
	now, rerr := read()
	if rerr != nil { // it was deleted meanwhile, or the caller may no longer see it
		return rerr
	}
	p := newProblem(err)
	by := a.displayName(ctx, now.updatedBy)
	p.Detail = now.label + " was changed"
	if by != "" {
		p.Detail += " by " + by
	}
	if !now.updatedAt.IsZero() {
		p.Detail += " at " + now.updatedAt.UTC().Format(time.RFC3339)
	}
	p.Detail += ", after the version that this change is based on; nothing was stored"
	p.Hint = fmt.Sprintf("Read the current version, then send the change again with %s: %s, or without %s to overwrite it.", headerIfMatch, etagOf(now.updatedAt), headerIfMatch)
	p.Current, p.ChangedBy, p.etag = now.body, by, etagOf(now.updatedAt)
	return p
}

// displayName returns a user's name for the id of a principal, and other ids as they are.
func (a *api) displayName(ctx context.Context, id string) string {
	user, ok := strings.CutPrefix(id, junctor.IssuerUser+":")
	if !ok {
		return id
	}
	if u, err := a.Users.User(ctx, callerOf(ctx).Tenant, user); err == nil {
		return u.Name
	}
	return id
}

// refuseIfMatch refuses If-Match at a route that compares no versions: the client relies
// on a check that would not happen.
func refuseIfMatch(r *http.Request) error {
	if r == nil || r.Header.Get(headerIfMatch) == "" {
		return nil
	}
	return junctor.Errorf(junctor.CodeInvalid, "%s does not compare versions; omit the header %s", r.Method+" "+r.URL.Path, headerIfMatch)
}

// goneError is the error of a change to a version of a thing that no longer exists.
func goneError(what, name string) error {
	return junctor.Errorf(junctor.CodeNotFound, "%s %q no longer exists; omit the header %s to create it again", what, name, headerIfMatch)
}
