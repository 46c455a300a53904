package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
)

// Changes records the changes that the API makes, and lists them. internal/app implements it.
type Changes interface {
	// Begin stores that a change begins, and sets its ID and time. If it fails, the change
	// must not be made.
	Begin(ctx context.Context, c *junctor.AdminChange) error
	// End stores how a change ended, with the value after it.
	End(ctx context.Context, c *junctor.AdminChange)
	// Drop forgets a change that was not made.
	Drop(ctx context.Context, c *junctor.AdminChange)
	// Changes returns a page of the changes of a tenant, newest first, and the cursor of the
	// next page; "" on the last.
	Changes(ctx context.Context, tenant junctor.TenantID, f junctor.AdminChangeFilter, cursor string) (changes []junctor.AdminChange, next string, err error)
	// Change returns one change; not_found if the tenant has none with that ID.
	Change(ctx context.Context, tenant junctor.TenantID, id string) (junctor.AdminChange, error)
}

// maxChangeValue bounds, in bytes, a value before or after a change.
const maxChangeValue = 64 << 10

// MaskValue returns the value of an object for the record of a change: as the API shows it,
// with secrets masked. It is nil for a nil object.
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

// changeOrigin returns a change with its actor and with where it comes from.
func (a *api) changeOrigin(ctx context.Context) *junctor.AdminChange {
	p, r := callerOf(ctx), requestOf(ctx)
	c := &junctor.AdminChange{Tenant: p.Tenant, EntryPoint: junctor.ChangeByAPI, Issuer: p.Issuer, Subject: p.Subject, Actor: p.Name, User: p.User, Client: p.Client}
	switch {
	case p.Login != "":
		c.EntryPoint = junctor.ChangeByConsole
	case p.Issuer == junctor.IssuerLocal || strings.HasPrefix(r.Header.Get("User-Agent"), ClientName):
		c.EntryPoint = junctor.ChangeByCLI
	}
	if p.Issuer != junctor.IssuerLocal && a.ClientAddress != nil {
		if address := a.ClientAddress(r); address.IsValid() {
			c.Address = address.String()
		}
	}
	return c
}

// ClientName is the beginning of the header User-Agent of the command line.
const ClientName = "junctor-cli"

// recordChange makes a change by do, and records it if the operation is one of
// recordedOperations: the row is stored before the change, and completed after it. A change
// that was refused leaves no record. One that failed leaves none if its object is as before.
func recordChange[O any](ctx context.Context, a *api, operation string, do func(context.Context) (*O, error)) (*O, error) {
	spec, recorded := recordedOperations()[operation]
	if !recorded {
		return do(ctx)
	}
	c := a.changeOrigin(ctx)
	c.Action, c.Object, c.ObjectID = operation, spec.object, spec.pathID(requestOf(ctx))
	c.Before = a.readObject(ctx, &spec, c)
	if err := a.Changes.Begin(ctx, c); err != nil {
		return nil, err
	}
	out, err := do(ctx)
	if c.ObjectID == "" && err == nil {
		c.ObjectID = memberOf(bodyOf(out), spec.created)
	}
	kept := context.WithoutCancel(ctx)
	if spec.answer && err == nil {
		c.After = MaskValue(bodyOf(out))
	} else {
		c.After = a.readObject(kept, &spec, c)
	}
	switch {
	case err == nil:
		c.Status = junctor.ChangeDone
	case bytes.Equal(c.Before, c.After):
		a.Changes.Drop(kept, c)
		return out, err
	default:
		c.Status = junctor.ChangeFailed
	}
	a.Changes.End(kept, c)
	return out, err
}

// readObject returns the value of a change's object at this moment; nil if it does not exist
// or cannot be read. If the caller named the object otherwise, c gets its ID.
func (a *api) readObject(ctx context.Context, spec *recordedOperation, c *junctor.AdminChange) json.RawMessage {
	if spec.read == nil || c.ObjectID == "" && spec.created != "" {
		return nil
	}
	object, err := spec.read(a, ctx, c.ObjectID)
	if err != nil {
		return nil
	}
	value := MaskValue(object)
	if id := memberOf(json.RawMessage(value), "id"); id != "" && c.ObjectID != "" {
		c.ObjectID = id
	}
	return value
}

// bodyOf returns the body of a response; nil if it has none.
func bodyOf(response any) any {
	v := reflect.Indirect(reflect.ValueOf(response))
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

// recordedOperation says what the record of an operation has.
type recordedOperation struct {
	object string   // kind of the object
	path   []string // the parameters of the path that make the object's ID
	// created is the member of the response with the ID of the object that the operation
	// makes.
	created string
	// read reads the object as the API shows it; nil if it has no value, such as a password.
	read objectReader
	// answer says that the response is the value after the change.
	answer bool
}

// objectReader reads an object by its ID.
type objectReader func(a *api, ctx context.Context, id string) (any, error)

// pathID returns the ID of the object from the path of a request.
func (o *recordedOperation) pathID(r *http.Request) string {
	parts := make([]string, len(o.path))
	for i, name := range o.path {
		parts[i] = r.PathValue(name)
	}
	return strings.Join(parts, "/")
}

// recordedOperations returns the operations that change the instance, and what their records
// have.
func recordedOperations() map[string]recordedOperation {
	server := func(a *api, ctx context.Context, id string) (any, error) {
		return a.Servers.Server(ctx, callerOf(ctx), id)
	}
	return map[string]recordedOperation{
		"create-server":  {object: "server", created: "id", read: server},
		"patch-server":   {object: "server", path: []string{"id"}, read: server},
		"enable-server":  {object: "server", path: []string{"id"}, read: server},
		"disable-server": {object: "server", path: []string{"id"}, read: server},
		"delete-server":  {object: "server", path: []string{"id"}, read: server},
	}
}

// changesQuery is the query of list-changes.
type changesQuery struct {
	Actor      string              `query:"actor" maxLength:"1024" doc:"Only changes by this actor: its ID or name, or the ID of the user."`
	Object     string              `query:"object" maxLength:"256" doc:"Only changes of objects of this kind, such as server."`
	ObjectID   string              `query:"object_id" maxLength:"1024" doc:"Only changes of the object with this ID or name."`
	Action     string              `query:"action" maxLength:"256" doc:"Only changes of this kind, such as create-server."`
	EntryPoint junctor.ChangeEntry `query:"entry_point" enum:"api,cli,console,settings-file,start" doc:"Only changes that came in this way."`
	Since      time.Time           `query:"since" doc:"Only changes at this time or later."`
	Until      time.Time           `query:"until" doc:"Only changes before this time."`
	Text       string              `query:"text" maxLength:"200" doc:"Only changes with this text in their object, action, actor or values."`
	Limit      int                 `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of items."`
	Cursor     string              `query:"cursor" maxLength:"500" doc:"The value of next from the previous page."`
}

// changeID is the path of one change.
type changeID struct {
	ID string `path:"id" maxLength:"128" doc:"The change's ID."`
}

// changeResponse is one change.
type changeResponse struct{ Body junctor.AdminChange }

// registerChangeRoutes registers the routes that list what was changed. They show the changes
// of the caller's tenant; those of the whole instance belong to the tenant default.
func (a *api) registerChangeRoutes() {
	tags := []string{"audit"}
	registerRoute(a, huma.Operation{
		OperationID: "list-changes", Method: http.MethodGet, Path: "/changes", Summary: "List administrative changes with their values before and after, newest first", Tags: tags,
	}, func(ctx context.Context, in *changesQuery) (*pageResponse[junctor.AdminChange], error) {
		list, next, err := a.Changes.Changes(ctx, callerOf(ctx).Tenant, junctor.AdminChangeFilter{
			Actor: in.Actor, Object: in.Object, ObjectID: in.ObjectID, Action: in.Action, EntryPoint: in.EntryPoint, Since: in.Since, Until: in.Until, Text: in.Text, Limit: in.Limit,
		}, in.Cursor)
		return newPage(list, next), err
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-change", Method: http.MethodGet, Path: "/changes/{id}", Summary: "Show an administrative change", Tags: tags,
	}, func(ctx context.Context, in *changeID) (*changeResponse, error) {
		c, err := a.Changes.Change(ctx, callerOf(ctx).Tenant, in.ID)
		return &changeResponse{c}, err
	})
}
