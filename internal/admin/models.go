package admin

import (
	"context"
	"fmt"
	"net/http"
	"time"

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
	Detail     string `json:"detail" doc:"Response of the model, or why it did not respond."`
	DurationMS int64  `json:"duration_ms"`
}

// ModelBody describes a model. In a change, absent members stay as they are.
type ModelBody struct {
	Kind    *junctor.ModelKind `json:"kind,omitempty" doc:"Protocol of the model: anthropic, openai (chat completions, which many providers support) or a2a (a remote agent instead of a model)."`
	BaseURL *string            `json:"base_url,omitempty" maxLength:"2000" doc:"Base URL of the model. If absent or empty, the provider's own service. With a2a, the URL of the agent or of its agent card."`
	Model   *string            `json:"model,omitempty" maxLength:"200" doc:"Name of the model at the provider. Absent with a2a."`
	Key     seal.Secret        `json:"key,omitzero" doc:"API key of the model. It is stored encrypted and never returned."`
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
		Name string `json:"name" doc:"Lower-case letter, followed by up to 31 lower-case letters, digits, dots or hyphens."`
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
	registerList(a, huma.Operation{
		OperationID: "list-models", Method: http.MethodGet, Path: "/models", Summary: "List the models that agents can answer with", Tags: tags,
	}, modelList(), func(ctx context.Context, _ *ListQuery) ([]junctor.Model, error) {
		list, err := a.Models.Models(ctx, callerOf(ctx))
		return list, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "create-model", Method: http.MethodPost, Path: "/models", Summary: "Add a model", Tags: tags, DefaultStatus: http.StatusCreated,
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
		OperationID: "delete-model", Method: http.MethodDelete, Path: "/models/{name}", Summary: "Delete a model with its key; fails while an agent uses it", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *modelName) (*empty, error) {
		return &empty{}, a.Models.RemoveModel(ctx, callerOf(ctx), in.Name)
	})
	registerRoute(a, huma.Operation{
		OperationID: "test-model", Method: http.MethodPost, Path: "/models/{name}/test", Summary: "Send a test request to a model", Tags: tags,
	}, func(ctx context.Context, in *modelName) (*modelTestResponse, error) {
		t, err := a.Models.TestModel(ctx, callerOf(ctx), in.Name)
		return &modelTestResponse{t}, err
	})
}

// modelList is the shape of list-models.
func modelList() listShape[junctor.Model] {
	return listShape[junctor.Model]{
		id: func(v *junctor.Model) string { return v.Name },
		orders: []listOrder[junctor.Model]{
			byText("name", func(v *junctor.Model) string { return v.Name }),
			byText("kind", func(v *junctor.Model) string { return string(v.Kind) }),
			byText("model", func(v *junctor.Model) string { return v.Model }),
			byTime("created_at", func(v *junctor.Model) time.Time { return v.CreatedAt }),
			byTime("updated_at", func(v *junctor.Model) time.Time { return v.UpdatedAt }),
		},
		text: func(v *junctor.Model) []string { return []string{v.Name, v.Model, v.BaseURL, string(v.Kind)} },
	}
}
