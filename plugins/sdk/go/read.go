package informer

import (
	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
	"github.com/informer-host/informer/plugins/sdk/go/internal/pointer"
)

// Read sets the fields of a struct from the object, by the JSON pointers (RFC 6901) in their tags. The host reads the values, so the
// plugin does not parse the object:
//
//	deployment := struct {
//		Replicas int    `pointer:"/spec/replicas"`
//		Owner    string `pointer:"/metadata/annotations/example.com~1owner"`
//	}{Replicas: 1}
//	err := object.Read(&deployment)
//
// A field keeps its value if the object has none at its pointer. Fields without the tag are left alone.
func (object *Object) Read(into any) error {
	pointers, err := pointer.Of(into)
	if err != nil {
		return err
	}
	values, err := object.values(pointers)
	if err != nil {
		return err
	}
	return pointer.Assign(into, values)
}

func (object *Object) values(pointers []string) ([]*string, error) {
	if object.json == "" {
		values, err := host.ObjectFields(object.token, pointers)
		return values, Refused(err)
	}
	values := make([]*string, len(pointers))
	for i, at := range pointers {
		value, err := pointer.At(object.json, at)
		if err != nil {
			return nil, &Error{Kind: Invalid, Message: err.Error()}
		}
		values[i] = value
	}
	return values, nil
}
