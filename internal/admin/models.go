package admin

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Models adds, changes and tests a tenant's language models. No method returns a key.
type Models interface {
	// Models lists the models by name.
	Models(ctx context.Context, p *junctor.Principal) ([]junctor.Model, error)
	// Model returns one model; not_found if there is none of that name.
	Model(ctx context.Context, p *junctor.Principal, name string) (junctor.Model, error)
	// AddModel stores a model. key may be zero for a model that requires none.
	AddModel(ctx context.Context, p *junctor.Principal, m junctor.Model, key seal.Secret) (junctor.Model, error)
	// ChangeModel runs change on the stored model. A zero key leaves the stored key,
	// unless the model's address changes: then the key has to be entered again, so that it
	// never goes to an address that somebody else entered.
	ChangeModel(ctx context.Context, p *junctor.Principal, name string, change func(*junctor.Model) error, key seal.Secret) (junctor.Model, error)
	// RemoveModel is a conflict while an agent uses the model.
	RemoveModel(ctx context.Context, p *junctor.Principal, name string) error
	// TestModel asks the model for a word. A model that does not answer is not an error.
	TestModel(ctx context.Context, p *junctor.Principal, name string) (ModelTest, error)
}

// ModelTest is the result of testing a model.
type ModelTest struct {
	OK         bool   `json:"ok"`
	Detail     string `json:"detail" doc:"What it said, or why it said nothing."`
	DurationMS int64  `json:"duration_ms"`
}

// ModelBody describes a model. In a change, absent members stay as they are.
type ModelBody struct {
	Kind    *junctor.ModelKind `json:"kind,omitempty" doc:"How it is spoken to: anthropic, openai for whatever speaks chat completions, or a2a for an agent elsewhere, which takes a model's place."`
	BaseURL *string            `json:"base_url,omitempty" maxLength:"2000" doc:"Where it is; absent or empty for the maker's own service. With a2a the agent's address, or that of its card."`
	Model   *string            `json:"model,omitempty" maxLength:"200" doc:"What the other side calls it; absent with a2a."`
	Key     seal.Secret        `json:"key,omitzero" doc:"The key for it. It is stored encrypted, and no route answers it."`
}

// applyTo sets the members of m that the body has. The key is not among them.
func (b *ModelBody) applyTo(m *junctor.Model) {
	setIfGiven(&m.Kind, b.Kind)
	setIfGiven(&m.BaseURL, b.BaseURL)
	setIfGiven(&m.Model, b.Model)
}

// newModel is the request that adds a model.
type newModel struct {
	Body struct {
		Name string `json:"name" doc:"A lower-case letter, then up to 31 lower-case letters, digits, dots or hyphens."`
		ModelBody
	}
}

// modelName is the path of one model.
type modelName struct {
	Name string `path:"name" maxLength:"32" doc:"The model's name."`
}

// modelPatch is the request that changes a model.
type modelPatch struct {
	Precondition
	Name string `path:"name" maxLength:"32" doc:"The model's name."`
	Body ModelBody
}

type (
	modelResponse     = versionedResponse[junctor.Model]
	modelTestResponse struct{ Body ModelTest }
)

// registerModelRoutes registers the routes below /models.
func (a *api) registerModelRoutes() {
	tags := []string{"models"}
	registerRoute(a, huma.Operation{
		OperationID: "list-models", Method: http.MethodGet, Path: "/models", Summary: "List the language models that agents may think with", Tags: tags,
	}, func(ctx context.Context, _ *empty) (*pageResponse[junctor.Model], error) {
		list, err := a.Models.Models(ctx, callerOf(ctx))
		return newPage(list, ""), err
	})
	registerRoute(a, huma.Operation{
		OperationID: "create-model", Method: http.MethodPost, Path: "/models", Summary: "Add a language model", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *newModel) (*modelResponse, error) {
		m := junctor.Model{Name: in.Body.Name}
		in.Body.applyTo(&m)
		m, err := a.Models.AddModel(ctx, callerOf(ctx), m, in.Body.Key)
		return withVersion(m, m.UpdatedAt), err
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-model", Method: http.MethodGet, Path: "/models/{name}", Summary: "Show a model", Tags: tags,
	}, func(ctx context.Context, in *modelName) (*modelResponse, error) {
		m, err := a.Models.Model(ctx, callerOf(ctx), in.Name)
		return withVersion(m, m.UpdatedAt), err
	})
	registerRoute(a, huma.Operation{
		OperationID: "patch-model", Method: http.MethodPatch, Path: "/models/{name}", Summary: "Change a model, or its key", Tags: tags,
	}, func(ctx context.Context, in *modelPatch) (*modelResponse, error) {
		m, err := a.Models.ChangeModel(ctx, callerOf(ctx), in.Name, func(m *junctor.Model) error {
			if err := in.checkVersion(m.UpdatedAt); err != nil {
				return err
			}
			in.Body.applyTo(m)
			return nil
		}, in.Body.Key)
		return withVersion(m, m.UpdatedAt), a.explainConflict(ctx, err, func() (storedVersion, error) {
			m, err := a.Models.Model(ctx, callerOf(ctx), in.Name)
			return storedVersion{fmt.Sprintf("the model %q", in.Name), m, m.UpdatedAt, m.UpdatedBy}, err
		})
	})
	registerRoute(a, huma.Operation{
		OperationID: "delete-model", Method: http.MethodDelete, Path: "/models/{name}", Summary: "Delete a model with its key; not while an agent thinks with it", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *modelName) (*empty, error) {
		return &empty{}, a.Models.RemoveModel(ctx, callerOf(ctx), in.Name)
	})
	registerRoute(a, huma.Operation{
		OperationID: "test-model", Method: http.MethodPost, Path: "/models/{name}/test", Summary: "Ask a model to say a word", Tags: tags,
	}, func(ctx context.Context, in *modelName) (*modelTestResponse, error) {
		t, err := a.Models.TestModel(ctx, callerOf(ctx), in.Name)
		return &modelTestResponse{t}, err
	})
}
