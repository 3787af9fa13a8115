// Package page iterates over pages.
package page

import "iter"

// Iterate yields the items of pages until the last one, or an error. A page returns the token of the next page, or nil.
func Iterate[T, K any](page func(token *K) ([]T, *K, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var token *K
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

// Convert converts the items of a page. The first item that cannot be converted ends it with the error.
func Convert[F, T any](found []F, convert func(F) (T, error)) ([]T, error) {
	items := make([]T, len(found))
	for i, item := range found {
		converted, err := convert(item)
		if err != nil {
			return nil, err
		}
		items[i] = converted
	}
	return items, nil
}
