package identity

import (
	"bytes"
	"encoding/json"
	"net/http"
	"unicode/utf8"
)

// Nullable is a member of a request that may be left out (a nil pointer), null (Null) or a value (Value).
type Nullable[T any] struct{ value *T }

// Null is a member that is null.
func Null[T any]() *Nullable[T] { return &Nullable[T]{} }

// Value is a member that is not null.
func Value[T any](value T) *Nullable[T] { return &Nullable[T]{&value} }

// MarshalJSON writes the value or null.
func (n Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.value) }

// Must gives the value, and panics where there is an error: for programs of a few lines.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Ptr is for members that may be left out.
func Ptr[T any](value T) *T { return &value }

// decode reads an answer as what the operation answers. Members that the document did not have when this was generated are skipped.
func decode[T any](octets []byte, answer *T) error {
	switch answer := any(answer).(type) {
	case *[]byte:
		*answer = octets
		return nil
	case *string:
		if !utf8.Valid(octets) {
			return unreadable(http.StatusOK, "the answer is not UTF-8")
		}
		*answer = string(octets)
		return nil
	}
	_, err := parseJSON(octets)
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(octets))
		decoder.UseNumber()
		err = decoder.Decode(answer)
	}
	if err != nil {
		return unreadable(http.StatusOK, "the answer is not JSON of its shape: "+err.Error())
	}
	return nil
}

// or is given, or otherwise where that is zero.
func or[T comparable](given, otherwise T) T {
	if given == *new(T) {
		return otherwise
	}
	return given
}
