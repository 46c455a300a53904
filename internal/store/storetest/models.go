package storetest

import (
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

func modelTests() map[string]func(*trial) {
	small := junctor.Model{Tenant: junctor.DefaultTenant, Name: "small", Kind: junctor.ModelOpenAI, BaseURL: "http://127.0.0.1:11434/v1", Model: "qwen3:4b"}
	times := cmpopts.IgnoreFields(junctor.Model{}, "CreatedAt", "UpdatedAt")
	return map[string]func(*trial){
		"models/are kept, changed and deleted with their keys": func(t *trial) {
			st := t.open()
			mine := st.For(junctor.DefaultTenant)
			ok(t, st.EnsureTenant(t.Context(), "acme", "Acme"))
			ok(t, mine.AddModel(t.Context(), small))
			fails(t, mine.AddModel(t.Context(), small), junctor.CodeConflict)
			got := must(t.open().For(junctor.DefaultTenant).Model(t.Context(), "small"))(t)
			if diff := cmp.Diff(small, got, times); diff != "" || got.CreatedAt.IsZero() {
				t.Errorf("-want +got:\n%s", diff)
			}
			ok(t, mine.PutSecret(t.Context(), store.Secret{SecretName: store.SecretName{Owner: junctor.ModelOwner("small"), Name: junctor.ModelKeySecret}, KeyID: "k"}))
			big := small
			big.UpdatedAt = got.UpdatedAt
			big.Kind, big.BaseURL, big.Model, big.HasKey, big.Trusted = junctor.ModelAnthropic, "", "claude", true, true
			ok(t, mine.UpdateModel(t.Context(), big, nil))
			if diff := cmp.Diff([]junctor.Model{big}, must(mine.Models(t.Context()))(t), times); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			key := store.Secret{SecretName: store.SecretName{Owner: junctor.ModelOwner("small"), Name: junctor.ModelKeySecret}, KeyID: "other"}
			fails(t, mine.UpdateModel(t.Context(), big, &key), junctor.CodePrecondition) // read before the change
			if got := must(mine.Secret(t.Context(), key.SecretName))(t); got.KeyID != "k" {
				t.Errorf("the key of a change that was refused is stored: %+v", got)
			}
			big.UpdatedAt = must(mine.Model(t.Context(), "small"))(t).UpdatedAt
			ok(t, mine.UpdateModel(t.Context(), big, &key))
			if got := must(mine.Secret(t.Context(), key.SecretName))(t); got.KeyID != "other" {
				t.Errorf("the key was not stored with its model: %+v", got)
			}
			other := st.For("acme")
			_, err := other.Model(t.Context(), "small")
			fails(t, err, junctor.CodeNotFound)
			fails(t, other.UpdateModel(t.Context(), big, nil), junctor.CodeNotFound)
			fails(t, other.DeleteModel(t.Context(), "small"), junctor.CodeNotFound)
			ok(t, mine.DeleteModel(t.Context(), "small"))
			fails(t, mine.DeleteModel(t.Context(), "small"), junctor.CodeNotFound)
			_, err = mine.Secret(t.Context(), store.SecretName{Owner: junctor.ModelOwner("small"), Name: junctor.ModelKeySecret})
			fails(t, err, junctor.CodeNotFound)
		},
		"agents/keep what they think with": func(t *trial) {
			mine := t.open().For(junctor.DefaultTenant)
			brain := &junctor.Brain{Model: "small", Instructions: "be kind", Limits: &junctor.TurnLimits{Turns: 3, Seconds: 9}}
			a := must(mine.AddAgent(t.Context(), junctor.Agent{Name: "bot", Role: "QA", Brain: brain, Exposure: junctor.ExposureSearch}))(t)
			if diff := cmp.Diff(brain, a.Brain); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if a = must(mine.Agent(t.Context(), "bot"))(t); a.Exposure != junctor.ExposureSearch {
				t.Errorf("its exposure is %q", a.Exposure)
			}
			a.Brain, a.Exposure = nil, ""
			if a = must(mine.UpdateAgent(t.Context(), a))(t); a.Brain != nil || a.Exposure != "" {
				t.Errorf("it still has %+v, exposure %q", a.Brain, a.Exposure)
			}
		},
	}
}
