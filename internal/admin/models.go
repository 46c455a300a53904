package admin

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Models is what can be done with a tenant's language models. Nothing here gives
// a key back.
type Models interface {
	Models(ctx context.Context, p *junctor.Principal) ([]junctor.Model, error)
	Model(ctx context.Context, p *junctor.Principal, name string) (junctor.Model, error)
	AddModel(ctx context.Context, p *junctor.Principal, m junctor.Model, key seal.Secret) (junctor.Model, error)
	// ChangeModel changes what change changes. A key of "" stays, unless the model
	// goes elsewhere: then it has to be entered again.
	ChangeModel(ctx context.Context, p *junctor.Principal, name string, change func(*junctor.Model) error, key seal.Secret) (junctor.Model, error)
	// RemoveModel is a conflict while an agent thinks with it.
	RemoveModel(ctx context.Context, p *junctor.Principal, name string) error
	// TestModel asks the model to say a word. That it does not is no error.
	TestModel(ctx context.Context, p *junctor.Principal, name string) (ModelTest, error)
}

// ModelTest is how a model answered.
type ModelTest struct {
	OK         bool   `json:"ok"`
	Detail     string `json:"detail" doc:"What it said, or why it said nothing."`
	DurationMS int64  `json:"duration_ms"`
}

// ModelBody is what describes a model. Members that are absent are not changed.
type ModelBody struct {
	Kind    *junctor.ModelKind `json:"kind,omitempty" doc:"How it is spoken to: anthropic, openai for whatever speaks chat completions, or a2a for an agent elsewhere, which takes a model's place."`
	BaseURL *string            `json:"base_url,omitempty" maxLength:"2000" doc:"Where it is; absent or empty for the maker's own service. With a2a the agent's address, or that of its card."`
	Model   *string            `json:"model,omitempty" maxLength:"200" doc:"What the other side calls it; absent with a2a."`
	Key     seal.Secret        `json:"key,omitzero" doc:"The key for it. It is stored encrypted, and no route answers it."`
}

func (b *ModelBody) to(m *junctor.Model) {
	set(&m.Kind, b.Kind)
	set(&m.BaseURL, b.BaseURL)
	set(&m.Model, b.Model)
}

type newModel struct {
	Body struct {
		Name string `json:"name" doc:"A lower-case letter, then up to 31 lower-case letters, digits, dots or hyphens."`
		ModelBody
	}
}

type modelName struct {
	Name string `path:"name" maxLength:"32" doc:"The model's name."`
}

type modelPatch struct {
	Precondition
	Name string `path:"name" maxLength:"32" doc:"The model's name."`
	Body ModelBody
}

type (
	oneModel     = versioned[junctor.Model]
	oneModelTest struct{ Body ModelTest }
)

func (a *api) modelRoutes() {
	tags := []string{"models"}
	route(a, huma.Operation{
		OperationID: "list-models", Method: http.MethodGet, Path: "/models", Summary: "List the language models that agents may think with", Tags: tags,
	}, func(ctx context.Context, _ *none) (*pageOf[junctor.Model], error) {
		list, err := a.Models.Models(ctx, caller(ctx))
		return newPage(list, ""), err
	})
	route(a, huma.Operation{
		OperationID: "create-model", Method: http.MethodPost, Path: "/models", Summary: "Add a language model", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *newModel) (*oneModel, error) {
		m := junctor.Model{Name: in.Body.Name}
		in.Body.to(&m)
		m, err := a.Models.AddModel(ctx, caller(ctx), m, in.Body.Key)
		return withVersion(m, m.UpdatedAt), err
	})
	route(a, huma.Operation{
		OperationID: "get-model", Method: http.MethodGet, Path: "/models/{name}", Summary: "Show a model", Tags: tags,
	}, func(ctx context.Context, in *modelName) (*oneModel, error) {
		m, err := a.Models.Model(ctx, caller(ctx), in.Name)
		return withVersion(m, m.UpdatedAt), err
	})
	route(a, huma.Operation{
		OperationID: "patch-model", Method: http.MethodPatch, Path: "/models/{name}", Summary: "Change a model, or its key", Tags: tags,
	}, func(ctx context.Context, in *modelPatch) (*oneModel, error) {
		m, err := a.Models.ChangeModel(ctx, caller(ctx), in.Name, func(m *junctor.Model) error {
			if err := in.check(m.UpdatedAt); err != nil {
				return err
			}
			in.Body.to(m)
			return nil
		}, in.Body.Key)
		return withVersion(m, m.UpdatedAt), a.refuse(ctx, err, func() (stored, error) {
			m, err := a.Models.Model(ctx, caller(ctx), in.Name)
			return stored{fmt.Sprintf("the model %q", in.Name), m, m.UpdatedAt, m.UpdatedBy}, err
		})
	})
	route(a, huma.Operation{
		OperationID: "delete-model", Method: http.MethodDelete, Path: "/models/{name}", Summary: "Delete a model with its key; not while an agent thinks with it", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *modelName) (*none, error) {
		return &none{}, a.Models.RemoveModel(ctx, caller(ctx), in.Name)
	})
	route(a, huma.Operation{
		OperationID: "test-model", Method: http.MethodPost, Path: "/models/{name}/test", Summary: "Ask a model to say a word", Tags: tags,
	}, func(ctx context.Context, in *modelName) (*oneModelTest, error) {
		t, err := a.Models.TestModel(ctx, caller(ctx), in.Name)
		return &oneModelTest{t}, err
	})
}
