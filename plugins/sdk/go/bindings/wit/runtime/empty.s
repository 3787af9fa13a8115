// This file lets functions of the host be declared in this package.
