// Package pointer reads values by JSON pointers (RFC 6901), into fields of structs that have them as tags.
package pointer

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Of returns the pointers in the tags of a struct that into points to.
func Of(into any) ([]string, error) {
	fields, err := tagged(into)
	pointers := make([]string, len(fields))
	for i, field := range fields {
		pointers[i] = field.Tag.Get("pointer")
	}
	return pointers, err
}

// Assign sets the tagged fields of a struct to the values at their pointers.
func Assign(into any, values []*string) error {
	fields, err := tagged(into)
	if err != nil {
		return err
	}
	target := reflect.ValueOf(into).Elem()
	for i, field := range fields {
		if i >= len(values) || values[i] == nil {
			continue
		}
		if err := json.Unmarshal([]byte(*values[i]), target.FieldByIndex(field.Index).Addr().Interface()); err != nil {
			return fmt.Errorf("%s: %w", field.Tag.Get("pointer"), err)
		}
	}
	return nil
}

func tagged(into any) ([]reflect.StructField, error) {
	kind := reflect.TypeOf(into)
	if kind == nil || kind.Kind() != reflect.Pointer || kind.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("%T is no pointer to a struct", into)
	}
	var fields []reflect.StructField
	for _, field := range reflect.VisibleFields(kind.Elem()) {
		if _, ok := field.Tag.Lookup("pointer"); !ok {
			continue
		}
		if !field.IsExported() {
			return nil, fmt.Errorf("the field %s of %T has a pointer and is not exported", field.Name, into)
		}
		fields = append(fields, field)
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("%T has no field with a tag like `pointer:\"/spec/replicas\"`", into)
	}
	return fields, nil
}

// At returns the value at a JSON pointer of a text, or nil.
func At(text, pointer string) (*string, error) {
	if pointer != "" && !strings.HasPrefix(pointer, "/") {
		return nil, fmt.Errorf("the pointer %q does not begin with /", pointer)
	}
	value := json.RawMessage(text)
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	parts := strings.Split(pointer, "/")
	for _, part := range parts[1:] {
		var object map[string]json.RawMessage
		var array []json.RawMessage
		var found bool
		if json.Unmarshal(value, &object) == nil {
			value, found = object[unescape.Replace(part)]
		} else if json.Unmarshal(value, &array) == nil {
			index, err := strconv.Atoi(part)
			if found = err == nil && index >= 0 && index < len(array); found {
				value = array[index]
			}
		}
		if !found {
			return nil, nil
		}
	}
	result := string(value)
	return &result, nil
}

// Equal returns true if both values are the same JSON, with each digit of whole numbers.
func Equal(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	before, err := parsed(*a)
	after, other := parsed(*b)
	if err != nil || other != nil {
		return *a == *b
	}
	return reflect.DeepEqual(before, after)
}

// parsed returns a value of maps, arrays and numbers. Whole numbers keep their digits, because a float64 would round large ones. As in the
// host, 1 and 1.0 are different numbers, and 1.0 and 1e0 are the same number.
func parsed(text string) (any, error) {
	var value any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(&value)
	return floats(value), err
}

// floats returns a value in which the numbers with a fraction or an exponent are of the type float64.
func floats(value any) any {
	switch found := value.(type) {
	case json.Number:
		if !strings.ContainsAny(string(found), ".eE") {
			return found
		}
		if float, err := found.Float64(); err == nil {
			return float
		}
	case []any:
		for i, element := range found {
			found[i] = floats(element)
		}
	case map[string]any:
		for name, member := range found {
			found[name] = floats(member)
		}
	}
	return value
}
