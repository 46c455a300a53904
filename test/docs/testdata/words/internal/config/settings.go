// Package config has settings and keys with the retired word "gate".
package config

type Setting struct{ Name, Help string }

func settings() []Setting {
	return []Setting{{
		Name: "gates-off",
		Help: "turns a gate off",
	}}
}

func keys() map[string]func() {
	return map[string]func(){
		"name": func() {},
		"gate": func() {},
	}
}

type written struct {
	Name string `yaml:"name"`
	List string `yaml:"gate_list,omitempty"`
}
