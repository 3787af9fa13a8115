// Package types holds the types of WIT that Go has no own for.
package types

// The values of Option.Tag and Result.Tag.
const (
	OptionNone = 0
	OptionSome = 1
	ResultOk   = 0
	ResultErr  = 1
)

// Unit is the value of a result without a value.
type Unit struct{}

// An Option is a value or none.
type Option[T any] struct {
	present bool
	value   T
}

// Some returns an option with a value.
func Some[T any](value T) Option[T] { return Option[T]{true, value} }

// None returns an option without a value.
func None[T any]() Option[T] { return Option[T]{} }

// Tag returns OptionSome or OptionNone.
func (option Option[T]) Tag() uint8 {
	if option.present {
		return OptionSome
	}
	return OptionNone
}

// IsSome returns true if there is a value.
func (option Option[T]) IsSome() bool { return option.present }

// IsNone returns true if there is no value.
func (option Option[T]) IsNone() bool { return !option.present }

// Some returns the value. It panics if there is none.
func (option Option[T]) Some() T {
	if !option.present {
		panic("the option has no value")
	}
	return option.value
}

// SomeOr returns the value, or another one if there is none.
func (option Option[T]) SomeOr(other T) T {
	if option.present {
		return option.value
	}
	return other
}

// A Result is a value or an error.
type Result[T, E any] struct {
	failed bool
	value  T
	err    E
}

// Ok returns a result with a value.
func Ok[T, E any](value T) Result[T, E] { return Result[T, E]{value: value} }

// Err returns a result with an error.
func Err[T, E any](err E) Result[T, E] { return Result[T, E]{failed: true, err: err} }

// Tag returns ResultOk or ResultErr.
func (result Result[T, E]) Tag() uint8 {
	if result.failed {
		return ResultErr
	}
	return ResultOk
}

// IsOk returns true if there is a value.
func (result Result[T, E]) IsOk() bool { return !result.failed }

// IsErr returns true if there is an error.
func (result Result[T, E]) IsErr() bool { return result.failed }

// Ok returns the value. It panics if there is an error.
func (result Result[T, E]) Ok() T {
	if result.failed {
		panic("the result is an error")
	}
	return result.value
}

// Err returns the error. It panics if there is a value.
func (result Result[T, E]) Err() E {
	if !result.failed {
		panic("the result is no error")
	}
	return result.err
}

// Tuples.
type (
	Tuple1[A any]    struct{ F0 A }
	Tuple2[A, B any] struct {
		F0 A
		F1 B
	}
	Tuple3[A, B, C any] struct {
		F0 A
		F1 B
		F2 C
	}
	Tuple4[A, B, C, D any] struct {
		F0 A
		F1 B
		F2 C
		F3 D
	}
	Tuple5[A, B, C, D, E any] struct {
		F0 A
		F1 B
		F2 C
		F3 D
		F4 E
	}
)
