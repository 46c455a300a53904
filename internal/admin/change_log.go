package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
)

// Changes records the changes that the API makes, and lists them. internal/app implements it.
type Changes interface {
	ChangeLog
	// Changes returns a page of the changes of a tenant, with one more if there is another
	// page, and the number of changes of all pages. The key of a page is the time of a
	// change, in microseconds.
	Changes(ctx context.Context, tenant junctor.TenantID, f *junctor.AdminChangeFilter, page *junctor.RowPage) ([]junctor.AdminChange, junctor.RowTotal, error)
	// Change returns one change; not_found if the tenant has none with that ID.
	Change(ctx context.Context, tenant junctor.TenantID, id string) (junctor.AdminChange, error)
}

// ChangeLog records changes of the instance. *audit.ChangeLog implements it.
type ChangeLog interface {
	// Begin stores that a change begins, and sets its ID and time. If it fails, the change
	// must not be made.
	Begin(ctx context.Context, c *junctor.AdminChange) error
	// End stores how a change ended, with the value after it.
	End(ctx context.Context, c *junctor.AdminChange)
	// Drop forgets a change that was not made.
	Drop(ctx context.Context, c *junctor.AdminChange)
}

// RecordChange makes a change by do, and records it: the change is stored before it is made,
// and completed after it. c has the actor, the action and the object; do may complete the ID
// of the object. read returns the object as the API shows it, and is nil if it has no value.
// A change that was refused leaves no record; one that failed leaves none if its object is as
// before.
func RecordChange(ctx context.Context, log ChangeLog, c *junctor.AdminChange, read func(context.Context) (any, error), do func(context.Context) error) error {
	return recordChange(ctx, log, c, read, do, changeRules{unchanged: true, creates: true})
}

// RecordIfChanged is RecordChange for what a start repeats: if the object is as before, there
// is no record.
func RecordIfChanged(ctx context.Context, log ChangeLog, c *junctor.AdminChange, read func(context.Context) (any, error), do func(context.Context) error) error {
	return recordChange(ctx, log, c, read, do, changeRules{creates: true})
}

// changeRules says how a change is recorded.
type changeRules struct {
	// unchanged records a change that succeeds even if the object is as before: a password,
	// for example, is not shown.
	unchanged bool
	// creates says that do may make an object with the ID that the caller gave. The ID is then
	// on record from the beginning, so that an interrupted change says what it made. Without
	// it, an ID of no object is not stored: it may be anything, such as a key in the wrong place.
	creates bool
}

// recordChange is RecordChange by these rules.
func recordChange(ctx context.Context, log ChangeLog, c *junctor.AdminChange, read func(context.Context) (any, error), do func(context.Context) error, rules changeRules) error {
	value := func(ctx context.Context) (_ json.RawMessage, exists bool) {
		if read == nil {
			return nil, false
		}
		object, err := read(ctx)
		if err != nil {
			return nil, false // it does not exist, or the caller may not see it
		}
		return MaskValue(object), true
	}
	var exists bool
	c.Before, exists = value(ctx)
	id := c.ObjectID
	if !exists && read != nil && !rules.creates {
		c.ObjectID = "" // until do has accepted it
	}
	if err := log.Begin(ctx, c); err != nil {
		return err
	}
	c.ObjectID = id
	kept := context.WithoutCancel(ctx) // a client that is gone does not undo the change
	c.Status = junctor.ChangeFailed
	returned := false
	defer func() {
		if !returned { // do panics
			log.End(kept, c)
		}
	}()
	err := do(ctx)
	returned = true
	c.After, _ = value(kept)
	switch {
	case (err != nil || !rules.unchanged) && bytes.Equal(c.Before, c.After):
		log.Drop(kept, c)
		return err
	case err == nil:
		c.Status = junctor.ChangeDone
	}
	log.End(kept, c)
	return err
}

// maxChangeValue bounds, in bytes, a value before or after a change.
const maxChangeValue = 64 << 10

// MaskValue returns the value of an object for the record of a change: as the API shows it,
// with secrets masked.
func MaskValue(object any) json.RawMessage {
	if object == nil {
		return nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(object); err != nil {
		return nil // what the API cannot show is no value
	}
	return history.RedactJSON(bytes.TrimSpace(b.Bytes()), maxChangeValue)
}

// changeOriginKey is the context key of a change's origin.
type changeOriginKey struct{}

// WithChangeOrigin returns a context in which NewChange makes changes of that actor, from
// there.
func WithChangeOrigin(ctx context.Context, origin junctor.AdminChange) context.Context {
	return context.WithValue(ctx, changeOriginKey{}, origin)
}

// NewChange returns a change of an object, with the actor and the origin of the context.
func NewChange(ctx context.Context, action, object, id string) *junctor.AdminChange {
	c, _ := ctx.Value(changeOriginKey{}).(junctor.AdminChange)
	c.Action, c.Object, c.ObjectID = action, object, id
	return &c
}

// ChangeOrigin returns a change with its actor and how it came in.
func ChangeOrigin(p *junctor.Principal, entry junctor.ChangeEntry) junctor.AdminChange {
	return junctor.AdminChange{Tenant: p.Tenant, EntryPoint: entry, Issuer: p.Issuer, Subject: p.Subject, Actor: p.Name, User: p.User, Client: p.Client}
}

// changeOrigin returns the origin of the changes of a request. How it came in is told by the
// credential alone: nothing that the client says about itself counts.
func (a *api) changeOrigin(ctx context.Context) junctor.AdminChange {
	p, r := callerOf(ctx), requestOf(ctx)
	entry := junctor.ChangeByAPI
	switch {
	case p.Login != "":
		entry = junctor.ChangeByConsole
	case p.Issuer == junctor.IssuerLocal:
		entry = junctor.ChangeByCLI
	}
	c := ChangeOrigin(p, entry)
	if p.Issuer != junctor.IssuerLocal && a.ClientAddress != nil {
		if address := a.ClientAddress(r); address.IsValid() {
			c.Address = address.String()
		}
	}
	return c
}

// recordOperation answers a request by do. If the operation is one of changeSpecs and the
// request is no dry run, it is recorded as a change.
func (a *api) recordOperation(ctx context.Context, operation string, in any, do untypedOperation) (out any, err error) {
	spec, changes := a.changes[operation]
	if !changes || isDryRun(in) || spec.only != nil && !spec.only(in) {
		return do(ctx, in)
	}
	ctx = WithChangeOrigin(ctx, a.changeOrigin(ctx))
	if spec.steps {
		return do(ctx, in)
	}
	if spec.readFor != nil {
		spec.read = spec.readFor(in)
	}
	c := NewChange(ctx, operation, spec.object, spec.objectID(ctx, in))
	begun := c.ObjectID != "" || spec.created == ""
	read := func(ctx context.Context) (any, error) {
		switch {
		case spec.requested != nil && out != nil:
			return spec.requested(in), nil
		case spec.read == nil:
			return nil, nil
		case !begun && c.ObjectID == "":
			return nil, nil
		}
		object, err := spec.read(ctx, a, c.ObjectID)
		if id := memberOf(object, spec.alias); err == nil && id != "" {
			c.ObjectID = id // the caller named it otherwise
		}
		return object, err
	}
	if spec.read == nil && spec.requested == nil {
		read = nil
	}
	err = recordChange(ctx, a.Changes, c, read, func(ctx context.Context) error {
		var err error
		if out, err = do(ctx, in); err == nil && c.ObjectID == "" {
			c.ObjectID = memberOf(bodyOf(out), spec.created)
		}
		if err != nil {
			out = nil
		}
		return err
	}, changeRules{unchanged: true, creates: spec.creates(operation)})
	return out, err
}

// recordObject records a change that is a step of an operation, such as one server of a pack.
func (a *api) recordObject(ctx context.Context, action, object, id string, do func(context.Context) error) error {
	read := a.changes[action].read
	return RecordChange(ctx, a.Changes, NewChange(ctx, action, object, id), func(ctx context.Context) (any, error) { return read(ctx, a, id) }, do)
}

// isDryRun reports whether a request asks what would be changed.
func isDryRun(in any) bool {
	body := reflect.Indirect(reflect.ValueOf(in)).FieldByName("Body")
	if !body.IsValid() || body.Kind() != reflect.Struct {
		return false
	}
	dry := body.FieldByName("DryRun")
	return dry.IsValid() && dry.Kind() == reflect.Bool && dry.Bool()
}

// bodyOf returns the body of a request or response; nil if it has none.
func bodyOf(message any) any {
	v := reflect.Indirect(reflect.ValueOf(message))
	if v.Kind() != reflect.Struct {
		return nil
	}
	if body := v.FieldByName("Body"); body.IsValid() && body.CanInterface() {
		return body.Interface()
	}
	return nil
}

// memberOf returns the text of a member of an object; "" if it has no such text.
func memberOf(object any, name string) string {
	if object == nil || name == "" {
		return ""
	}
	text, err := json.Marshal(object)
	if err != nil {
		return ""
	}
	var members map[string]any
	if json.Unmarshal(text, &members) != nil {
		return ""
	}
	value, _ := members[name].(string)
	return value
}

// textField returns the text of a field of a struct by its name in JSON. A request is not
// written as JSON for that: it may have secrets.
func textField(v reflect.Value, name string) string {
	if v.Kind() != reflect.Struct {
		return ""
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name && field.Type.Kind() == reflect.String {
			return v.Field(i).String()
		}
	}
	return ""
}

// changeSpec says what the record of an operation has.
type changeSpec struct {
	object string   // kind of the object
	path   []string // the parameters of the path that make the object's ID
	named  string   // the member of the request with the object's ID
	// created is the member of the response with the object's ID, which the operation makes.
	created string
	// self says that the object is the caller's own user.
	self bool
	// alias is the member of the object with its ID, if callers may name it otherwise.
	alias string
	// read reads the object as the API shows it; nil if it has no value.
	read objectReader
	// readFor returns read for a request, if the request tells which object it is.
	readFor func(in any) objectReader
	// requested returns the value after the change from the request, where that is all that the
	// change has, or the object takes it later, and no secret is in it; nil if the value is read.
	requested func(in any) any
	// only reports whether a request changes something; nil if each does.
	only func(in any) bool
	// steps says that the operation changes several objects, each of which has its own record.
	steps bool
}

// creates reports whether an operation may make an object with the ID in the request. Objects
// with an alias have IDs that Junctor makes.
func (o *changeSpec) creates(operation string) bool {
	return o.alias == "" && (strings.HasPrefix(operation, "create-") || strings.HasPrefix(operation, "put-"))
}

// objectReader reads an object by its ID, as the API shows it to the caller.
type objectReader func(ctx context.Context, a *api, id string) (any, error)

// objectID returns the ID of the object of a request; "" if the operation makes it.
func (o *changeSpec) objectID(ctx context.Context, in any) string {
	switch {
	case o.self:
		return callerOf(ctx).User
	case o.named != "":
		return textField(reflect.ValueOf(bodyOf(in)), o.named)
	}
	r := requestOf(ctx)
	parts := make([]string, len(o.path))
	for i, name := range o.path {
		parts[i] = r.PathValue(name)
	}
	return strings.Join(parts, "/")
}
