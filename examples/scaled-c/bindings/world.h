// What the world exports.
#define INFORMER_WORLD_PLUGIN
#define INFORMER_WORLD_HANDLER
