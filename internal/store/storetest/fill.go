package storetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// fill returns a value of which every exported field, also those within others, has a
// value of its own that is not zero. It panics at a kind of field that it does not know.
func fill[T any](tenant junctor.TenantID) T {
	var v T
	f := filler{tenant: tenant}
	f.fill(reflect.ValueOf(&v).Elem(), reflect.TypeFor[T]().Name())
	return v
}

// filler counts the fields that it has filled, so that no two of them are equal.
type filler struct {
	tenant junctor.TenantID
	n      int
}

func (f *filler) fill(v reflect.Value, path string) {
	f.n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(moment(f.n)))
		return
	case junctor.TenantID:
		v.Set(reflect.ValueOf(f.tenant))
		return
	case json.RawMessage, junctor.JSON:
		v.SetBytes(fmt.Appendf(nil, `{"%s":%d}`, path, f.n))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(path + "-é") // no space: lists of scopes are stored with spaces between
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.n))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(f.n%255) + 1) //nolint:gosec // n is not negative
	case reflect.Float64:
		v.SetFloat(float64(f.n) + 0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), path)
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				f.fill(v.Field(i), path+"."+field.Name)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(fmt.Appendf(nil, `["%s"]`, path)) // JSON, where a column wants it
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			f.fill(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), path)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key, path+"-key")
		f.fill(value, path+"[]")
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	default:
		panic(fmt.Sprintf("fill cannot set %s, which is a %s: teach it", path, v.Type()))
	}
}
