// The generated code refers to this function, and never calls it.
void __component_type_object_force_link_plugin(void) {}
