package servers

import (
	"reflect"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/declare"
)

// otherValue returns a value of a field that is not the empty one.
func otherValue(t *testing.T, f junctor.Field) reflect.Value {
	t.Helper()
	v := reflect.New(f.Type).Elem()
	switch v.Kind() {
	case reflect.String:
		v.SetString("other")
		if f.IsURL() {
			v.SetString("https://other.example.com/mcp")
		}
		if words := f.Words(); words != nil {
			v.SetString(words[len(words)-1])
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(7)
	case reflect.Int64:
		v.SetInt(int64(7 * time.Minute))
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.ValueOf("other")))
	case reflect.Map:
		v.Set(reflect.MakeMap(f.Type))
		one := reflect.New(f.Type.Elem()).Elem()
		if one.Kind() == reflect.Struct {
			one.Field(0).SetBool(true)
		} else {
			one.SetString("env:OTHER")
		}
		v.SetMapIndex(reflect.ValueOf("X_OTHER"), one)
	case reflect.Pointer:
		v.Set(reflect.ValueOf(&junctor.Auth{Type: junctor.AuthBearer, Secret: "env:OTHER"}))
	default:
		t.Fatalf("%s is a %s, which this test has no value for", f.Name, f.Type)
	}
	return v
}

// TestEveryFieldIsSeen holds that no field of a connection is forgotten anywhere: a change
// of it is in the difference, connects the server anew unless its tag says otherwise, and
// is hidden from other users unless its tag says otherwise. A verdict has a copy of it,
// and a file that is written has it when it is read.
func TestEveryFieldIsSeen(t *testing.T) {
	t.Parallel()
	for _, f := range junctor.Fields(junctor.Connection{}) {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			former := junctor.Server{ID: "a", Mode: junctor.ModeBYO, State: junctor.StateActive, Connection: junctor.Connection{Transport: junctor.TransportHTTP, URL: "https://a.example.com/mcp"}}
			if f.Name == "command" || f.Name == "cwd" || f.Name == "env" || f.Name == "home" {
				former.Connection = junctor.Connection{Transport: junctor.TransportStdio, Command: []string{"a"}}
			}
			row := former
			f.In(&row.Connection).Set(otherValue(t, f))

			changed := false
			for _, d := range declare.Differences(flat(&former), flat(&row)) {
				name, _, _ := strings.Cut(d.Field, ".")
				changed = changed || name == f.Name
			}
			if !changed {
				t.Error("the difference does not have it")
			}
			if got := !sameConnection(&row.Connection, &former.Connection); got != f.Reconnects() {
				t.Errorf("a change of it connects the server anew: %v", got)
			}

			shown := row
			shown.Auth = nil // of which the kind is public
			restrict(&junctor.Principal{Tenant: junctor.DefaultTenant, User: "other"}, &shown)
			if v := f.In(&shown.Connection); !f.Public() && !v.IsZero() && f.Name != "url" {
				t.Errorf("other users are shown %v", v)
			}

			verdict := admission.Stored(row)
			if got := verdict.Row(); !reflect.DeepEqual(got.Connection, row.Connection) {
				t.Errorf("the verdict has %+v", got.Connection)
			}
			if v := f.In(&row.Connection); v.Kind() == reflect.Map {
				v.SetMapIndex(reflect.ValueOf("X_LATER"), reflect.Zero(f.Type.Elem()))
				if got := verdict.Row(); reflect.DeepEqual(got.Connection, row.Connection) {
					t.Error("the verdict changes with the row")
				}
				v.SetMapIndex(reflect.ValueOf("X_LATER"), reflect.Value{})
			}

			if f.Name == "transport" {
				return // a file has it for sse alone, since the other members say the rest
			}
			d, _ := config.FromRows([]junctor.Server{row})
			text, err := d.YAML()
			if err != nil {
				t.Fatal(err)
			}
			again, err := config.Parse("f", text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if got := again.Servers[0].Connection(); len(got.DifferentFields(&row.Connection)) > 0 {
				t.Errorf("written and read, it is %+v\n%s", got, text)
			}
		})
	}
}
