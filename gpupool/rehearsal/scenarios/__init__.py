"""A site's own promises: data files in the folder `rehearsal` of its inventory, tested like gpupool's promises."""
