// Package page iterates over pages.
package page

import "iter"

// Iterate yields the items of pages until the last one, or an error.
func Iterate[T any](page func(token *string) ([]T, *string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var token *string
		for {
			items, next, err := page(token)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == nil {
				return
			}
			token = next
		}
	}
}
