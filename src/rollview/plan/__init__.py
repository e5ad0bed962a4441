"""From a view's algebra to maintenance: admission, extents, plans as data, SQL, cost, explanation."""
