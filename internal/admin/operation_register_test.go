package admin

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// sampleResolver is a type that huma would ask to resolve itself.
type sampleResolver struct{ Name string }

func (*sampleResolver) Resolve(huma.Context) []error { return nil }

// hiddenPage cannot be set by reflection where it is embedded.
type hiddenPage struct {
	Limit int `query:"limit"`
}

// TestOperationRefusesTypes shows that nothing in a type is ignored: what an operation does
// not support is refused when it is registered.
func TestOperationRefusesTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		request, answer any
		want            string
	}{
		{struct {
			P *string `query:"p"`
		}{}, empty{}, "the type *string of the parameter p"},
		{struct {
			P float64 `query:"p"`
		}{}, empty{}, "the type float64 of the parameter p"},
		{struct {
			P []int `query:"p"`
		}{}, empty{}, "the type []int of the parameter p"},
		{struct {
			P []string `query:"p"`
		}{}, empty{}, "the form of the parameter p"},
		{struct {
			P string `query:"p,explode"`
		}{}, empty{}, "the form of the parameter p"},
		{struct {
			P string `query:"p,deepObject"`
		}{}, empty{}, "the form of the parameter p"},
		{struct {
			P []string `query:"p,explode" default:"a"`
		}{}, empty{}, "the form of the parameter p"},
		{struct {
			P time.Time `header:"P"`
		}{}, empty{}, "the type time.Time of the parameter P"},
		{struct {
			P string `cookie:"p"`
		}{}, empty{}, "the tag cookie of P"},
		{struct {
			P string `form:"p"`
		}{}, empty{}, "the tag form of P"},
		{struct {
			P string `query:"p" hidden:"true"`
		}{}, empty{}, "the tag hidden of P"},
		{struct {
			P time.Time `query:"p" timeFormat:"2006"`
		}{}, empty{}, "the tag timeFormat of P"},
		{struct {
			p string `query:"p"`
		}{}, empty{}, "the field p without a parameter"},
		{struct{ RawBody []byte }{}, empty{}, "the field RawBody without a parameter"},
		{struct{ hiddenPage }{}, empty{}, "the embedded field hiddenPage"},
		{struct{ *SamplePage }{}, empty{}, "the embedded field SamplePage"},
		{struct{ Body *samplePart }{}, empty{}, "a request body that is optional"},
		{struct {
			Body samplePart `contentType:"text/plain"`
		}{}, empty{}, "the tag contentType of Body"},
		{struct {
			SamplePage
			Body samplePart
		}{}, empty{}, "a default beside a body"},
		{struct {
			Body []struct {
				A string `json:"a" default:"x"`
			}
		}{}, empty{}, "the default of A"},
		{struct{ Body map[string]sampleResolver }{}, empty{}, "the resolver of admin.sampleResolver"},
		{sampleResolver{}, empty{}, "the resolver of admin.sampleResolver"},
		{empty{}, struct{ Status int }{}, "the field Status of an answer"},
		{empty{}, struct{ Name string }{}, "the field Name of an answer"},
		{empty{}, struct {
			At time.Time `header:"Date"`
		}{}, "the field At of an answer"},
		{empty{}, struct {
			Kind string `header:"Content-Type"`
		}{}, "the field Kind of an answer"},
		{empty{}, struct{ Body []byte }{}, "the type []uint8 of an answer's body"},
		{empty{}, struct{ Body func(huma.Context) }{}, "the type func(huma.Context) of an answer's body"},
		{empty{}, struct{ Body Problem }{}, "the type admin.Problem of an answer's body"},
	} {
		got := refusalOf(newSamples(), huma.Operation{}, c.request, c.answer)
		if want := "GET /samples: " + c.want + " is not supported"; got != want {
			t.Errorf("%T, %T: got %q, want %q", c.request, c.answer, got, want)
		}
	}
}

// TestOperationRefusesSettings shows the same for members of huma.Operation.
func TestOperationRefusesSettings(t *testing.T) {
	t.Parallel()
	for _, op := range []huma.Operation{
		{Errors: []int{404}},
		{Hidden: true},
		{SkipValidateBody: true},
		{SkipValidateParams: true},
		{RejectUnknownQueryParameters: true},
		{RequestBody: &huma.RequestBody{}},
		{Parameters: []*huma.Param{{}}},
		{MaxBodyBytes: -1},
	} {
		if got := refusalOf(newSamples(), op, empty{}, empty{}); !strings.Contains(got, "a member of huma.Operation is not supported") {
			t.Errorf("%+v: got %q", op, got)
		}
	}
	if got := refusalOf(newSamples(), huma.Operation{}, sampleID{}, sampleAnswer{}); got != "" {
		t.Errorf("supported types are refused: %s", got)
	}
}

// refusalOf registers an operation and returns the text of the panic.
func refusalOf(a *api, op huma.Operation, request, answer any) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint(v)
		}
	}()
	op.OperationID, op.Method, op.Path = "get-me", http.MethodGet, "/samples"
	registerOperation(a.huma, op, reflect.TypeOf(request), reflect.TypeOf(answer), func(context.Context, any) (any, *Problem) { return nil, nil })
	return ""
}
